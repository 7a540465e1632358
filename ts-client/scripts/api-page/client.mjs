/** What the client's source says of itself, read by the TypeScript compiler. */
import { fileURLToPath } from "node:url"
import ts from "typescript"

const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url))
const STYLE =
  ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope

export class ClientSource {
  #checker
  #exports

  constructor() {
    const root = `${SOURCE}index.ts`
    const program = ts.createProgram([root], compilerOptions())
    this.#checker = program.getTypeChecker()
    const module = this.#checker.getSymbolAtLocation(program.getSourceFile(root))
    const found = this.#checker.getExportsOfModule(module)
    this.#exports = new Map(found.map((symbol) => [symbol.name, this.#resolved(symbol)]))
  }

  /** The exported symbols by name. */
  get exported() {
    return this.#exports
  }

  /** The members of an exported class or interface, or of a type, that are not private. */
  members(name) {
    return this.#properties(this.#checker.getDeclaredTypeOfSymbol(this.#named(name)))
  }

  /** What an exported alias of a type stands for, or undefined for anything else. */
  alias(name) {
    const symbol = this.#named(name)
    if ((symbol.flags & ts.SymbolFlags.TypeAlias) === 0) return undefined
    return oneLine(
      this.#checker.typeToString(
        this.#checker.getDeclaredTypeOfSymbol(symbol),
        undefined,
        STYLE | ts.TypeFormatFlags.InTypeAlias,
      ),
    )
  }

  /** The documentation of an exported symbol. */
  doc(name) {
    return this.#doc(this.#named(name))
  }

  /** The member that a path of names leads to, from `MemorySystem`: `["runs", "get"]`. */
  method(path) {
    let type = this.#checker.getDeclaredTypeOfSymbol(this.#named("MemorySystem"))
    let symbol
    for (const name of path) {
      symbol = type.getProperty(name)
      if (symbol === undefined) return undefined
      type = this.#checker.getTypeOfSymbol(symbol)
    }
    const signature = type.getCallSignatures()[0]
    return signature && this.#described(symbol, signature, path)
  }

  /** A property of `MemorySystem`. */
  member(name) {
    return this.members("MemorySystem").find((symbol) => symbol.name === name)
  }

  /** The constructor of `MemorySystem`, and its static ways to one. */
  makers() {
    const symbol = this.#named("MemorySystem")
    const type = this.#checker.getTypeOfSymbol(symbol)
    const made = type.getConstructSignatures().map((one) => ["new MemorySystem", one, one])
    const statics = this.#checker
      .getPropertiesOfType(type)
      .filter(({ name }) => name !== "prototype")
      .flatMap((one) =>
        this.#checker
          .getTypeOfSymbol(one)
          .getCallSignatures()
          .map((signature) => [`MemorySystem.${one.name}`, signature, one]),
      )
    return [...statics, ...made].map(([name, signature, documented]) => ({
      signature: this.#signatureText(name, signature),
      doc: this.#doc(documented),
    }))
  }

  /** A property's name, type as written, and documentation. */
  property(symbol) {
    const optional = (symbol.flags & ts.SymbolFlags.Optional) !== 0
    const type = this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(symbol))
    const written = symbol.valueDeclaration?.type?.getText().replace(" | undefined", "")
    const shown = written ?? this.#text(type)
    return { name: symbol.name, optional, type: oneLine(shown), doc: this.#doc(symbol) }
  }

  #described(symbol, signature, path) {
    const parameters = signature.getParameters().map((parameter) => {
      const type = this.#checker.getTypeOfSymbol(parameter)
      return {
        name: parameter.name,
        // What an object in this place may hold; nothing for a text, a number or an array.
        fields: new Set(this.#objects(type).flatMap((one) => this.#names(one))),
      }
    })
    const text = this.#signatureText(path.join("."), signature)
    return {
      name: path.join("."),
      parameters,
      signature: text,
      doc: this.#doc(symbol) || this.#doc(signature),
      iterates: /: AsyncGenerator</.test(text),
    }
  }

  #signatureText(name, signature) {
    const text = this.#checker.signatureToString(signature, undefined, STYLE)
    return oneLine(`${name}${text}`).replaceAll(" | undefined", "")
  }

  #objects(type) {
    const parts = type.isUnion() ? type.types : [type]
    return parts.filter(
      (part) => part.flags & ts.TypeFlags.Object && !this.#checker.isArrayLikeType(part),
    )
  }

  #names(type) {
    return this.#checker.getPropertiesOfType(type).map((property) => property.name)
  }

  #properties(type) {
    return this.#checker
      .getPropertiesOfType(type)
      .filter((symbol) => !symbol.name.startsWith("__") && !isHidden(symbol))
  }

  #named(name) {
    const symbol = this.#exports.get(name)
    if (symbol === undefined) throw new Error(`the client exports no ${name}`)
    return symbol
  }

  #doc(symbol) {
    return ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim()
  }

  #text(type) {
    return this.#checker.typeToString(type, undefined, STYLE)
  }

  #resolved(symbol) {
    const alias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
    return alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }
}

/** Why the examples do not compile against the client; empty where they do. */
export function faultsOf(examples) {
  const file = `${SOURCE}examples-of-the-page.ts`
  const lines = [
    'import { MemorySystem } from "./index.js"',
    "declare const memory: MemorySystem",
    ...examples.map((example) => `{\n${example}\n}`),
    "export {}",
  ]
  const options = compilerOptions()
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (name) => name === file || fileExists.call(host, name)
  host.getSourceFile = (name, ...more) =>
    name === file
      ? ts.createSourceFile(name, lines.join("\n"), ts.ScriptTarget.ES2022)
      : getSourceFile.call(host, name, ...more)
  const program = ts.createProgram([file], { ...options, noUnusedLocals: false }, host)
  const own = program.getSourceFile(file)
  return [...program.getSyntacticDiagnostics(own), ...program.getSemanticDiagnostics(own)].map(
    ({ messageText, start }) => {
      const line = own.getLineAndCharacterOfPosition(start ?? 0).line
      return `${lines.join("\n").split("\n")[line]}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
    },
  )
}

function compilerOptions() {
  const path = fileURLToPath(new URL("../../tsconfig.json", import.meta.url))
  const { config } = ts.readConfigFile(path, ts.sys.readFile)
  return ts.convertCompilerOptionsFromJson(
    config.compilerOptions,
    fileURLToPath(new URL("../../", import.meta.url)),
  ).options
}

function isHidden(symbol) {
  const flags = symbol.valueDeclaration ? ts.getCombinedModifierFlags(symbol.valueDeclaration) : 0
  return (flags & ts.ModifierFlags.Private) !== 0 || symbol.name.startsWith("#")
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").replaceAll(/import\("[^"]*"\)\./g, "")
}
