"""Only what setup.cfg and pyproject.toml cannot say: which wheel comes out, by what was built and
what that needs. All else about the project is in those files.
"""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
RECORDS = Path("pyspark_zkgroup") / "records"


class Wheel(bdist_wheel):
    """The decoder is optional, so that there is a wheel in any case. One without it is the same for
    every machine and must say so: by the name of the other kind it would be taken for that one. One
    with it says on which Linux it runs: by the name of this machine no index would take it.
    """

    def run(self) -> None:
        self.run_command("build")
        built = Path(self.get_finalized_command("build").build_lib) / RECORDS
        libraries = list(built.glob("_decoder*.so"))
        if libraries:
            self.name_the_system(libraries[0])
        else:
            print("No native decoder was built: this wheel is for every machine, and reads slowly")
            self.distribution.has_ext_modules = lambda: False
            self.root_is_pure = True
        super().run()

    def name_the_system(self, library: Path) -> None:
        if not sys.platform.startswith("linux") or self.plat_name_supplied:
            return
        # Whoever builds a package does not have its folders on the path.
        sys.path.insert(0, str(REQUIREMENTS))
        from linux_tag import NoPromiseError, platform_tag

        try:
            self.plat_name = platform_tag(library.read_bytes())
        except NoPromiseError as error:
            print(f"{library.name} runs on machines like this one only, as {error}")


setup(cmdclass={"bdist_wheel": Wheel})
