#!/usr/bin/env bash
# Holds workflows, forms, recipes and metadata against their schemas and linters, without a network.
# `make check-package` calls it with its tools in PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
check-jsonschema --builtin-schema vendor.github-issue-forms \
  .github/ISSUE_TEMPLATE/{bug,idea,submission}.yml
check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
zizmor --offline --quiet --config .github/zizmor.yml .github
validate-pyproject pyproject.toml
for machine in x86_64 aarch64; do
  cibuildwheel --platform linux --archs "$machine" --print-build-identifiers
done
repo-review .
pre-commit validate-config .pre-commit-config.yaml
packaging/check_metadata.py
