"""What the package says of itself and of the machine."""

import json
import platform
import subprocess
import sys

import bridgemark as bm


def test_it_says_what_the_program_says():
    found = bm.doctor()
    assert found["build"]["version"] == bm.__version__
    assert found["python"]["python"] == platform.python_version()
    assert found["passed"] is True and found["checks"]
    program = subprocess.run(
        [sys.executable, "-m", "bridgemark", "doctor", "--json"], capture_output=True, check=True
    )
    said = json.loads(program.stdout)
    assert said["machine"]["processor"] == found["machine"]["processor"]
    assert said["cpu"] == found["cpu"]
