"""Only what setup.cfg and pyproject.toml cannot say: which kind of wheel was built."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

RECORDS = Path("pyspark_zkgroup") / "records"


class Wheel(bdist_wheel):
    """Names a wheel without the native decoder for every machine.

    The decoder is optional, so there is a wheel in any case. A wheel without it that had the name
    of one machine would be taken for one that reads fast.
    """

    def run(self) -> None:
        self.run_command("build")
        built = Path(self.get_finalized_command("build").build_lib) / RECORDS
        decoders = list(built.glob("_decoder*.so"))
        for decoder in decoders:
            # Programs and Spark's workers that run in the clone load the sources, not what is
            # installed: without a decoder there, they would read slowly and parse no JSON. One that
            # runs keeps the file that it has loaded.
            (RECORDS / decoder.name).unlink(missing_ok=True)
            shutil.copy2(decoder, RECORDS)
        if not decoders:
            print(
                "No native decoder was built: this wheel is for every machine and reads slowly. "
                "To build it, install Rust (https://rustup.rs) and a C compiler, then try again"
            )
            self.distribution.has_ext_modules = lambda: False
            self.root_is_pure = True
        super().run()


setup(cmdclass={"bdist_wheel": Wheel})
