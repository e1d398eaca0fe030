"""What the package says of itself and of the machine."""

import json
import os
import platform
import subprocess
import sysconfig

import bridgemark as bm


def test_it_says_what_the_program_says():
    found = bm.doctor()
    assert found["build"]["version"] == bm.__version__
    assert found["python"]["python"] == platform.python_version()
    assert found["passed"] is True and found["checks"]
    command = os.path.join(sysconfig.get_path("scripts"), "bridgemark")
    program = subprocess.run([command, "doctor", "--json"], capture_output=True, check=True)
    said = json.loads(program.stdout)
    assert said["machine"]["processor"] == found["machine"]["processor"]
    assert said["cpu"] == found["cpu"]
