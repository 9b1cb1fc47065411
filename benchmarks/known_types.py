"""How many public names have a type that every checker reads alike: `make types`.

pyright looks at every public name of the package (`--verifytypes`) and gives the share that is known. Its own exit code
asks for all of them; here it is enough to be above `LEAST`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"

# Of some 9,300 names; 99.8 % are known. What is missing is made by assignment: `__getattr__` and `__dir__` of lazy
# packages, short names for methods, variables of a loop. Below 99 % some eighty more would be missing: look at them.
LEAST = 0.99


def main() -> int:
    """Print the share and the names that are missing; 1 where they are too many."""
    # With --verifytypes pyright asks the first python of PATH for packages, whatever --pythonpath says; where that one
    # has not our libraries, our types are unknown, too. PYTHONPATH: this checkout, whichever one is installed.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = ["pyright", "--verifytypes", "amcc", "--ignoreexternal", "--outputjson"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path, "PYTHONPATH": str(SOURCE)}
    )
    found = json.loads(run.stdout)["typeCompleteness"]
    missing = [each["name"] for each in found["symbols"] if each["isExported"] and each["isTypeAmbiguous"]]
    missing += [each["name"] for each in found["symbols"] if each["isExported"] and not each["isTypeKnown"]]
    print(*dict.fromkeys(missing), sep="\n")
    print(
        f"{100 * found['completenessScore']:.1f} % of the public names have a known type; at least {100 * LEAST:.0f} %"
    )
    return int(found["completenessScore"] < LEAST)


if __name__ == "__main__":
    sys.exit(main())
