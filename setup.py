"""Only what setup.cfg and pyproject.toml cannot say: which wheel comes out if the native decoder
was not built. All else about the project is in those files.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

RECORDS = Path("pyspark_zkgroup") / "records"


class Wheel(bdist_wheel):
    """The decoder is optional, so that there is a wheel in any case. One without it is the same for
    every machine and must say so: by the name of the other kind it would be taken for that one.
    """

    def run(self) -> None:
        self.run_command("build")
        built = Path(self.get_finalized_command("build").build_lib) / RECORDS
        if not any(built.glob("_decoder*.so")):
            self.distribution.has_ext_modules = lambda: False
            self.root_is_pure = True
        super().run()


setup(cmdclass={"bdist_wheel": Wheel})
