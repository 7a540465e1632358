/** Members that a caller may leave out, or give as undefined, which is left out. */
export type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined }
