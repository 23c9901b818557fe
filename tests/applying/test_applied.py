"""A plan carried out: what is cured is the target at once, and the past can return."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from sandboxes import uv

from doctor.applying import files
from doctor.applying import journal as journals
from doctor.applying.applied import applied
from doctor.applying.environment import examined
from doctor.applying.lock import locked
from doctor.applying.undoing import undone
from doctor.applying.workplace import CannotApply
from doctor.findings import Report
from doctor.host import Disk, LocalHost
from doctor.target import Target
from doctor.treatment.outcome import Outcome
from doctor.treatment.plan import Plan, Refusal, Step

from .test_installers_fail import apply
from .test_killed import in_shared_folder, litter
from .workshop import ILL, NEW, OLD, Patient, fingerprint, plan, recheck, records_that_lie, run

pytestmark = pytest.mark.environments
Make = Callable[..., Patient]


def target(one: Patient) -> Target:
    return Target(str(one.python), "--python")


def carried_out(one: Patient, made: Plan) -> Outcome:
    return applied(LocalHost(), target(one), made, recheck, lambda line: None)


def tool(one: Patient) -> str:
    return run(one.folder / "bin" / "demo-tool").strip()


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_cured_and_taken_back(installer: str, shared: bool, patient: Make) -> None:
    one = patient(pip=installer == "pip")
    if shared:
        in_shared_folder(one)
    before = fingerprint(one.folder)
    outcome = apply(one, (one.pip if installer == "pip" else one.uv)("demo==2.0"))
    assert outcome.state == "cured" and outcome.cured == (ILL,)
    assert f"demo=={OLD}" in outcome.before and f"demo=={NEW}" in outcome.after
    assert tool(one) == NEW and records_that_lie(one.site) == []
    past = journals.last(LocalHost(), target(one))
    assert past is not None and past.name == outcome.past and past.steps == ("Step 1",)
    back = undone(LocalHost(), target(one), lambda line: None)
    assert back.name == outcome.past and back.frozen == outcome.before
    assert fingerprint(one.folder) == before and tool(one) == OLD and litter(one) == set()
    assert journals.last(LocalHost(), target(one)) is None
    with pytest.raises(CannotApply, match="no fix"):
        undone(LocalHost(), target(one), lambda line: None)


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
def test_what_came_since_is_not_lost(shared: bool, patient: Make) -> None:
    one = patient(pip=False)
    if shared:
        in_shared_folder(one)
    apply(one, one.uv("demo==2.0"))
    one.install("bystander", "helper==2.0")
    undo = Path(one.site / "since-1.0.dist-info")
    undo.mkdir()
    (undo / "METADATA").write_text("Metadata-Version: 2.1\nName: since\nVersion: 1.0\n")
    now = fingerprint(one.folder)
    with pytest.raises(CannotApply, match="since==1.0"):
        undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == now
    undone(LocalHost(), target(one), lambda line: None, even_if_changed=True)
    assert tool(one) == OLD and not undo.exists()


def test_only_the_last_past_is_kept(patient: Make) -> None:
    one = patient(pip=False)
    apply(one, one.uv("demo==2.0"))
    second = fingerprint(one.folder)
    one.install("demo==1.0", "helper==1.0")
    third = fingerprint(one.folder)
    apply(one, one.uv("demo==2.0", "--reinstall-package", "bystander"))
    assert len(list(one.folder.parent.glob("*.before-*"))) == 1
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == third != second


def test_improved_where_one_of_two_findings_is_gone(patient: Make) -> None:
    one = patient(pip=False)
    step = Step(
        title="Both", kind="install", scope="environment", cures=(ILL, "x/y"), commands=(one.uv("demo==2.0"),)
    )
    made = msgspec.structs.replace(plan(one.python), steps=(step,))
    found = recheck(str(one.python))
    assert [one.id for one in found.findings] == [ILL]

    def check(python: str) -> Report:
        now = recheck(python)
        other = msgspec.structs.replace(found.findings[0], id="x/y")
        return msgspec.structs.replace(now, findings=(*now.findings, other))

    outcome = applied(LocalHost(), target(one), made, check, lambda line: None)
    assert (outcome.state, outcome.cured, outcome.not_cured) == ("improved", (ILL,), ("x/y",))


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
def test_a_registration_is_deleted(shared: bool, patient: Make) -> None:
    one = patient(pip=False)
    if shared:
        in_shared_folder(one)
    one.install("demo==2.0")
    stale = one.site / "demo-1.0.dist-info"
    stale.mkdir()
    (stale / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    before = fingerprint(one.folder)
    step = Step(title="Delete", kind="delete", scope="environment", cures=(ILL,), paths=(str(stale),))
    outcome = carried_out(one, msgspec.structs.replace(plan(one.python), steps=(step,)))
    assert outcome.state == "cured" and not stale.exists()
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


def test_nothing_outside_of_the_site_folders_is_deleted(patient: Make) -> None:
    one = patient(pip=False)
    mine = one.folder.parent / "site-packages" / "mine"
    mine.mkdir(parents=True)
    for path in (mine, one.folder / "bin", one.site / ".." / ".." / ".." / "pyvenv.cfg"):
        step = Step(title="Delete", kind="delete", scope="environment", cures=(ILL,), paths=(str(path),))
        outcome = carried_out(one, msgspec.structs.replace(plan(one.python), steps=(step,)))
        assert outcome.state == "restored" and "not in a site folder" in outcome.said
        assert path.exists()


@pytest.mark.parametrize(
    "name", ["v", ".venv", "my env", "umwelt-ä", "环境", "it's", "a" * 60, "venv-3.11+cu130"]
)
def test_any_name_of_a_folder(name: str, patient: Make) -> None:
    by_pip = name in ("my env", "a" * 60)  # whose shape decides how pip writes a script's first line
    one = patient(name, pip=by_pip)
    before = fingerprint(one.folder)
    assert apply(one, (one.pip if by_pip else one.uv)("demo==2.0")).state == "cured"
    assert tool(one) == NEW and records_that_lie(one.site) == []
    assert [path for path in one.folder.rglob("*") if starts_another(path, one)] == []
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before and litter(one) == set()


def starts_another(path: Path, one: Patient) -> bool:
    """Does a script start another interpreter than that of its own folder?"""
    content = path.read_bytes() if path.parent.name == "bin" and path.is_file() else b""
    return content.startswith(b"#!") and b"/home/" in content and bytes(one.folder) not in content


def test_a_script_of_the_target_means_the_twin(patient: Make) -> None:
    """bin/pip names its interpreter in its first line."""
    one = patient()
    before, seen = fingerprint(one.folder), []

    def check(python: str) -> Report:
        seen.append(fingerprint(one.folder) == before)
        return recheck(python)

    words = one.pip("demo==2.0")[3:]
    assert apply(one, (str(one.folder / "bin" / "pip"), *words), check=check).state == "cured"
    assert seen == [True]


@pytest.mark.parametrize("maker", ["venv", "virtualenv links"])
def test_environments_of_other_makers(maker: str, patient: Make) -> None:
    one = patient(pip=False)
    if maker == "venv":
        run(sys.executable, "-m", "venv", "--clear", "--without-pip", "--copies", one.folder)
        one.install("demo==1.0", "helper==1.0")
    else:  # old ones have absolute links to what lies in themselves
        (one.folder / "lib64").unlink(missing_ok=True)
        (one.folder / "lib64").symlink_to(one.folder / "lib")
    before = fingerprint(one.folder)
    assert apply(one, one.uv("demo==2.0")).state == "cured"
    assert tool(one) == NEW
    assert (one.folder / "lib64").resolve() == one.folder / "lib"
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


def test_a_prefix_that_is_a_link(patient: Make) -> None:
    one = patient(pip=False)
    link = one.folder.parent / "link"
    link.symlink_to(one.folder)
    before = fingerprint(one.folder)
    linked = Target(str(link / "bin" / "python"), "--python")
    command = tuple(word.replace(str(one.folder), str(link)) for word in one.uv("demo==2.0"))
    outcome = applied(LocalHost(), linked, plan(linked.executable, command), recheck, lambda line: None)
    assert outcome.state == "cured" and link.is_symlink() and tool(one) == NEW
    undone(LocalHost(), linked, lambda line: None)
    assert fingerprint(one.folder) == before


@pytest.fixture
def layers(tmp_path: Path) -> Iterator[Path]:
    """An overlay as images have it, where this user may mount one; what is there lies in the lower layer."""
    lower, upper, both = (tmp_path / name for name in ("lower", "upper", "home"))
    for folder in (lower, upper, both):
        folder.mkdir()
    yield both
    for folder in (both, upper):
        subprocess.run(["umount", "--lazy", folder], capture_output=True, check=False)


def mount_layers(layers: Path) -> None:
    lower, upper = layers.parent / "lower", layers.parent / "upper"
    shutil.copytree(layers, lower, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(layers / "venv")
    folders = f"lowerdir={lower},upperdir={upper}/files,workdir={upper}/work"
    for command in (["tmpfs", "tmpfs", str(upper)], ["overlay", "overlay", "-o", folders, str(layers)]):
        if subprocess.run(["mount", "-t", *command], capture_output=True, check=False).returncode:
            pytest.skip("this user may mount nothing")
        for name in ("files", "work"):
            (upper / name).mkdir(exist_ok=True)


def test_an_environment_in_a_layer_of_an_image(layers: Path, wheels: Path) -> None:
    """It can be neither renamed nor linked to; its files are kept one by one."""
    one = Patient(layers / "venv", wheels, pip=False)
    mount_layers(layers)
    before = fingerprint(one.folder)
    with pytest.raises(OSError, match="Invalid cross-device link"):
        one.folder.rename(layers / "other")
    assert apply(one, one.uv("demo==2.0"), one.uv("no-such-package")).state == "restored"
    assert fingerprint(one.folder) == before and litter(one) == set()
    assert apply(one, one.uv("demo==2.0")).state == "cured"
    assert tool(one) == NEW and records_that_lie(one.site) == []
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


def test_hard_links_that_cannot_be_made(patient: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*paths: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    one = patient(pip=False)
    before = fingerprint(one.folder)
    monkeypatch.setattr(os, "link", link)
    assert apply(one, one.uv("no-such-package")).state == "restored"
    assert fingerprint(one.folder) == before
    assert apply(one, one.uv("demo==2.0")).state == "cured"
    assert tool(one) == NEW and records_that_lie(one.site) == []
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


def test_an_environment_made_by_conda_is_kept_whole(patient: Make) -> None:
    one = patient(pip=False)
    (one.folder / "conda-meta").mkdir()
    (one.folder / "conda-meta" / "history").write_text("==> one <==\n")
    (one.folder / "pkgs").mkdir()
    before = fingerprint(one.folder)
    program = (
        "import os, sys; open(os.path.join(sys.prefix, 'conda-meta', 'history'), 'a').write('more');"
        "open(os.path.join(sys.prefix, 'lib', 'libnew.so'), 'w').close(); sys.exit(1)"
    )
    assert apply(one, (str(one.python), "-c", program)).state == "restored"
    assert fingerprint(one.folder) == before
    assert apply(one, one.uv("demo==2.0")).state == "cured"
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


LEADING_AWAY = {
    "PIP_TARGET": "away",
    "PIP_PREFIX": "away",
    "PIP_ROOT": "away",
    "PIP_USER": "1",
    "PIP_PYTHON": "away/python",
    "PIP_DRY_RUN": "1",
    "PIP_REQUIRE_VIRTUALENV": "1",
    "PYTHONUSERBASE": "away",
    "PYTHONPATH": "away",
    "UV_TARGET": "away",
    "UV_PREFIX": "away",
    "UV_PYTHON": "away/python",
    "UV_SYSTEM_PYTHON": "1",
    "UV_PROJECT_ENVIRONMENT": "away",
    "VIRTUAL_ENV": "away",
    "CONDA_PREFIX": "away",
}


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_variables_that_lead_away(
    installer: str, patient: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = patient(pip=installer == "pip")
    for name, value in LEADING_AWAY.items():
        monkeypatch.setenv(name, value.replace("away", str(tmp_path / "away")))
    host = LocalHost()
    for name in LEADING_AWAY:
        monkeypatch.delenv(name)
    command = (one.pip if installer == "pip" else one.uv)("demo==2.0")
    outcome = applied(host, target(one), plan(one.python, command), recheck, lambda line: None)
    assert outcome.state == "cured" and tool(one) == NEW
    assert not (tmp_path / "away").exists()


@pytest.mark.parametrize("setting", ["target = away", "prefix = away", "user = true"])
def test_a_configuration_that_leads_away(
    setting: str, patient: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "pip.conf"
    config.write_text(f"[install]\n{setting.replace('away', str(tmp_path / 'away'))}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    one = patient()
    before = fingerprint(one.folder)
    if "away" in setting:
        with pytest.raises(CannotApply, match="pip.conf"):
            apply(one, one.pip("demo==2.0"))
        assert fingerprint(one.folder) == before
    else:  # a variable overrides it
        assert apply(one, one.pip("demo==2.0")).state == "cured"
    assert not (tmp_path / "away").exists()


def test_a_second_run_is_told_who_works(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    root = os.path.realpath(one.folder)
    folder = journals.folder_of(os.environ, root)
    with locked(journals.lock_in(folder), root), pytest.raises(CannotApply, match=f"process {os.getpid()}"):
        apply(one, one.uv("demo==2.0"))
    assert fingerprint(one.folder) == before
    assert apply(one, one.uv("demo==2.0")).state == "cured"  # the file of a lock that nobody holds is no lock


def test_a_second_run_while_the_first_installs(patient: Make) -> None:
    one = patient(pip=False)
    told: list[str] = []

    def check(python: str) -> Report:
        with pytest.raises(CannotApply) as refused:
            apply(one, one.uv("demo==2.0"))
        told.append(str(refused.value))
        return recheck(python)

    outcome = applied(LocalHost(), target(one), plan(one.python, one.uv("demo==2.0")), check, print)
    assert outcome.state == "cured" and "another run" in told[0]


class Elsewhere(LocalHost):
    """This machine with another disk."""

    def disk(self, folder: str) -> Disk | None:
        return Disk(10 << 20, True, True)


def test_little_disk_is_said_beforehand(patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    with pytest.raises(CannotApply, match="10 MiB of free disk space"):
        applied(Elsewhere(), target(one), plan(one.python, one.uv("demo==2.0")), recheck, lambda line: None)
    assert fingerprint(one.folder) == before and litter(one) == set()


def refused(made: Plan, one: Patient, words: str) -> None:
    before = fingerprint(one.folder)
    with pytest.raises(CannotApply, match=words) as error:
        carried_out(one, made)
    assert error.value.hint
    assert fingerprint(one.folder) == before and litter(one) == set()


def test_what_is_not_for_the_doctor(patient: Make, tmp_path: Path) -> None:
    one = patient(pip=False)
    made = plan(one.python, one.uv("demo==2.0"))
    refusal = Refusal(why="it belongs to the system", commands=(("lora-doctor", "install"),))
    refused(msgspec.structs.replace(made, refusal=refusal), one, "belongs to the system")
    refused(msgspec.structs.replace(made, steps=()), one, "no step")
    refused(msgspec.structs.replace(made, language="poetry"), one, "poetry")
    steps = (msgspec.structs.replace(made.steps[0], kind="hand"),)
    refused(msgspec.structs.replace(made, steps=steps), one, "no step")
    state = tmp_path / "state"
    state.write_text("a file where the folder should be")
    refused(made, one, "state of a run cannot be kept")


def test_an_interpreter_of_the_system(patient: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.applying import environment as environments

    one = patient(pip=False)
    found = examined(LocalHost(), target(one), ["demo"])
    assert found.kind == "venv" and found.sizes["demo"] > 0 and found.writable
    for change, words in (
        ({"externally_managed": True}, "PEP 668"),
        ({"writable": False}, "cannot be written"),
    ):
        unfit = msgspec.structs.replace(found, **change)
        with pytest.raises(CannotApply, match=words):
            environments.refuse_unfit(LocalHost(), unfit)


def test_an_interpreter_that_does_not_run(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no >&2; exit 9\n")
    broken.chmod(0o755)
    with pytest.raises(CannotApply, match="exit code 9"):
        applied(
            LocalHost(),
            Target(str(broken), "--python"),
            plan(broken, (str(broken), "-m", "pip", "install", "demo")),
            recheck,
            lambda line: None,
        )


def test_the_target_never_shares_a_file_that_is_written(patient: Make) -> None:
    """Whatever the installers do in the twin, no file of the target has changed by then."""
    one = patient()
    (one.site / "easy-install.pth").write_text("/somewhere/else\n")
    before = fingerprint(one.folder)
    seen: list[bool] = []

    def check(python: str) -> Report:
        program = (
            "import sysconfig; open(sysconfig.get_path('purelib') + '/easy-install.pth', 'a').write('more')"
        )
        subprocess.run([python, "-c", program], check=True)
        seen.append(fingerprint(one.folder) == before)
        return recheck(python)

    commands = (one.pip("--force-reinstall", "demo==2.0", "bystander"), one.uv("--reinstall", "helper==2.0"))
    outcome = applied(LocalHost(), target(one), plan(one.python, *commands), check, lambda line: None)
    assert outcome.state == "cured" and seen == [True]
    assert (one.site / "easy-install.pth").read_text() == "/somewhere/else\nmore"


BACKEND = """
import os, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    files = {
        "own.pth": os.getcwd(),
        "own-3.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: own\\nVersion: 3.0\\n",
        "own-3.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "own-3.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(os.path.join(wheel_directory, "own-3.0-py3-none-any.whl"), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return "own-3.0-py3-none-any.whl"

build_wheel = build_editable
"""


@pytest.mark.parametrize("shared", [False, True], ids=["twin", "in place"])
def test_a_package_without_record_is_laid_down_anew(shared: bool, patient: Make) -> None:
    """pip writes over what it cannot uninstall, and empties REQUESTED where it lies."""
    one = patient()
    if shared:
        in_shared_folder(one)
    (one.site / "demo-1.0.dist-info" / "RECORD").unlink()
    (one.site / "demo-1.0.dist-info" / "REQUESTED").write_text("not empty")
    before, seen = fingerprint(one.folder), []
    anew = one.pip("--ignore-installed", "--no-deps", "demo==1.0")

    def check(python: str) -> Report:
        seen.append(shared or fingerprint(one.folder) == before)
        return recheck(python)

    outcome = apply(one, anew, one.pip("demo==2.0"), check=check)
    assert outcome.state == "cured" and seen == [True] and records_that_lie(one.site) == []
    undone(LocalHost(), target(one), lambda line: None)
    assert fingerprint(one.folder) == before


def test_an_editable_package_whose_sources_lie_in_the_environment(patient: Make) -> None:
    """As ``pip install -e git+https://...`` has it; reinstalled in the twin it would name the twin."""
    one = patient()
    source = one.folder / "src" / "own"
    source.mkdir(parents=True)
    (source / "own.py").write_text("__version__ = '3.0'\n")
    (source / "backend.py").write_text(BACKEND)
    system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (source / "pyproject.toml").write_text(system)
    editable = ("--quiet", "--no-build-isolation", "-e", str(source))
    run(*one.pip(*editable))
    outcome = apply(one, one.pip("demo==2.0"), one.pip("--force-reinstall", *editable))
    assert outcome.state == "cured" and f"own @ {source.as_uri()} (3.0)" in outcome.after
    assert run(one.python, "-c", "import own; print(own.__file__)").strip() == str(source / "own.py")
    direct = json.loads((one.site / "own-3.0.dist-info" / "direct_url.json").read_text())
    assert direct["url"] == source.as_uri() and records_that_lie(one.site) == []


def test_a_twin_of_which_nothing_changed_is_the_original(patient: Make) -> None:
    one = patient()
    before, told = fingerprint(one.folder), []

    def check(python: str) -> Report:
        told.append(run(Path(python).parent / "demo-tool").strip())
        return msgspec.structs.replace(recheck(python), findings=())

    outcome = applied(
        LocalHost(),
        target(one),
        plan(one.python, (str(one.python), "-c", "pass")),
        check,
        lambda line: None,
    )
    assert outcome.state == "cured" and told == [OLD]
    assert fingerprint(one.folder) == before and records_that_lie(one.site) == []
    scripts = [
        path for path in (one.folder / "bin").iterdir() if path.name.endswith("-tool") or path.name == "pip"
    ]
    assert len(scripts) == 4 and all(run(path, "--version") for path in scripts)
    past = next(one.folder.parent.glob("*.before-*"))
    shared = [
        path for path in one.site.glob("**/*.py") if not (past / path.relative_to(one.folder)).samefile(path)
    ]
    assert shared == []


def test_uv_is_found_in_the_environment_itself(patient: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = patient(pip=False)
    (one.folder / "bin" / "uv").symlink_to(uv())
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert apply(one, ("uv", *one.uv("demo==2.0")[1:])).state == "cured"


def test_files_of_the_cache_of_uv_stay_as_they_are(patient: Make) -> None:
    one = patient(pip=False)
    linked = {
        path: files.read(str(path))
        for path in one.site.rglob("*")
        if path.is_file() and path.stat().st_nlink > 1
    }
    copies = {path: path.with_name(path.name + ".copy") for path in linked}
    keep = one.folder.parent / "links"
    keep.mkdir()
    for number, path in enumerate(copies):
        os.link(path, keep / str(number))
    apply(one, one.uv("demo==2.0"))
    assert [files.read(str(keep / str(number))) for number in range(len(linked))] == list(linked.values())


@pytest.mark.parametrize("system_site", [False, True])
def test_packages_of_another_prefix_are_none_of_ours(system_site: bool, patient: Make) -> None:
    one = patient(pip=False)
    config = one.folder / "pyvenv.cfg"
    told = f"include-system-site-packages = {str(system_site).lower()}"
    config.write_text(config.read_text().replace("include-system-site-packages = false", told))
    found = examined(LocalHost(), target(one))
    assert found.packages == (str(one.site.resolve()),)
    assert found.frozen == ("bystander==1.0", "demo==1.0", "helper==1.0")


def test_a_package_whose_metadata_is_rubbish_is_frozen_by_its_name(patient: Make) -> None:
    one = patient(pip=False)
    (one.site / "demo-1.0.dist-info" / "METADATA").unlink()
    (one.site / "demo-1.0.dist-info" / "METADATA").write_bytes(b"\xff\xfe\x00rubbish\x80")
    found = examined(LocalHost(), target(one))
    assert found.frozen == ("bystander==1.0", "demo==unreadable", "helper==1.0")
