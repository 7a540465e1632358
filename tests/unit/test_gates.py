"""The plugin that holds testing.md and the tests together sees each way to cheat it."""

from pathlib import Path

import pytest

from tests.gates import Row, offences, read_rows

ROW_A = "| A-01 is no row | x | y |\n| AREA-01 | it works | `unit/test_it.py` |\n"
INI = "[pytest]\nmarkers = gate\nasyncio_default_fixture_loop_scope = function\n"
TEST_A = 'import pytest\n\n@pytest.mark.gate("AREA-01")\ndef test_it(): pass\n'


def project(root: Path, testing_md: str, **sources: str) -> Path:
    """A small repository: keyword `test_it` becomes tests/unit/test_it.py."""
    (root / "testing.md").write_text(testing_md, encoding="utf-8")
    (root / "tests" / "unit").mkdir(parents=True)
    (root / "ts-client" / "test").mkdir(parents=True)
    for name, text in sources.items():
        if name.startswith("ts_"):
            path = root / "ts-client" / "test" / f"{name.removeprefix('ts_')}.test.ts"
        else:
            path = root / "tests" / "unit" / f"{name}.py"
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.gate("TIDY-01")
def test_rows_are_read_with_their_files() -> None:
    rows = read_rows("| CASC-03 | spills first | `unit/test_a.py`, tests/crash/test_b.py |")
    assert rows == [Row("CASC-03", "spills first", ("unit/test_a.py", "tests/crash/test_b.py"))]


@pytest.mark.gate("TIDY-01")
def test_a_matrix_and_tests_that_agree_have_no_offence(tmp_path: Path) -> None:
    assert offences(project(tmp_path, ROW_A, test_it=TEST_A)) == []


@pytest.mark.gate("TIDY-01")
@pytest.mark.parametrize(
    "testing_md,test,complaint",
    [
        (ROW_A, "def test_it(): pass\n", "AREA-01 has no test"),
        ("", TEST_A, "AREA-01 is no row of testing.md"),
        (ROW_A + ROW_A, TEST_A, "AREA-01 stands 2 times"),
        (ROW_A.replace("test_it", "test_gone"), TEST_A, "test_gone.py, which does not exist"),
        (ROW_A.replace("`unit/test_it.py`", "later"), TEST_A, "names no test file"),
        (ROW_A.replace("it works", ""), TEST_A, "says no behaviour"),
        (ROW_A, TEST_A.replace("test_it", "check_it"), "is not collected by pytest"),
        (ROW_A, TEST_A.replace('"AREA-01"', "ROW"), "more than a plain string"),
        (ROW_A, TEST_A.replace('"AREA-01"', ""), "more than a plain string"),
        (ROW_A + "| AREA-x | ? | ? |\n", TEST_A, "AREA-x is not a row"),
    ],
    ids=[
        "no-test",
        "no-row",
        "row-twice",
        "no-file",
        "no-file-named",
        "no-behaviour",
        "not-collected",
        "not-literal",
        "no-argument",
        "malformed-id",
    ],
)
def test_each_disagreement_is_named(
    tmp_path: Path, testing_md: str, test: str, complaint: str
) -> None:
    assert any(complaint in line for line in offences(project(tmp_path, testing_md, test_it=test)))


@pytest.mark.gate("TIDY-01")
def test_a_row_that_names_a_file_without_its_marker_is_an_offence(tmp_path: Path) -> None:
    row = ROW_A.replace("`unit/test_it.py`", "`unit/test_it.py` `unit/test_other.py`")
    root = project(tmp_path, row, test_it=TEST_A, test_other="def test_other(): pass\n")
    assert offences(root) == [
        "AREA-01 names unit/test_other.py, where no test is marked with it",
    ]


@pytest.mark.gate("TIDY-01")
@pytest.mark.parametrize(
    "typescript,complaint",
    [
        ('test("[TS-01] opens", () => {})', None),
        ('test("opens", () => {})', "TS-01 has no test"),
        ('test.skip("[TS-01] opens", () => {})', "skips or selects"),
        ('test("[TS-01] opens", { skip: true }, () => {})', "skips or selects"),
        ('test("[TS-01] opens [TS-09]", () => {})', "TS-09 is no row"),
    ],
    ids=["proved", "no-test", "skip", "skip-option", "no-row"],
)
def test_typescript_rows_are_proved_by_titles(
    tmp_path: Path, typescript: str, complaint: str | None
) -> None:
    row = "| TS-01 | opens | `open.test.ts` |"
    found = offences(project(tmp_path, row, ts_open=typescript))
    assert (found == []) if complaint is None else any(complaint in line for line in found)


@pytest.mark.gate("TIDY-01")
def test_a_typescript_row_is_not_proved_from_python_alone(tmp_path: Path) -> None:
    row = "| TS-01 | opens | `unit/test_it.py` |"
    root = project(tmp_path, row, test_it=TEST_A.replace("AREA-01", "TS-01"))
    assert offences(root) == ["TS-01 has no TypeScript test with [TS-01] in its title"]


@pytest.mark.gate("TIDY-02")
@pytest.mark.parametrize(
    "body",
    [
        "def test_it(): pytest.skip('not here')",
        "@pytest.mark.skip\ndef test_it(): pass",
        "@pytest.mark.skipif(True, reason='not here')\ndef test_it(): pass",
        "@pytest.mark.xfail\ndef test_it(): assert False",
        "@pytest.mark.xfail(strict=False)\ndef test_it(): pass",
        "@pytest.mark.parametrize('nothing', [])\ndef test_it(nothing): pass",
    ],
    ids=["call", "mark", "condition", "xfail", "xpass", "empty-parameters"],
)
def test_a_gated_test_that_did_not_run_fails_the_run(pytester: pytest.Pytester, body: str) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(f"import pytest\n{body}".replace("def ", '@pytest.mark.gate("X-01")\ndef '))
    result = pytester.runpytest_inprocess("-p", "tests.gates")
    outcomes = result.parseoutcomes()
    assert outcomes in ({"failed": 1}, {"error": 1}, {"errors": 1})
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.gate("TIDY-02")
def test_a_module_of_gated_tests_may_not_skip_itself(pytester: pytest.Pytester) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(
        "import pytest\npytest.importorskip('no_such_module')\n"
        "@pytest.mark.gate('X-01')\ndef test_it(): pass\n"
    )
    result = pytester.runpytest_inprocess("-p", "tests.gates")
    result.assert_outcomes(errors=1)
    assert result.ret != pytest.ExitCode.OK


@pytest.mark.gate("TIDY-02")
def test_a_test_without_a_row_may_skip(pytester: pytest.Pytester) -> None:
    pytester.makeini(INI)
    pytester.makepyfile("import pytest\ndef test_it(): pytest.skip('not here')")
    pytester.runpytest_inprocess("-p", "tests.gates").assert_outcomes(skipped=1)
