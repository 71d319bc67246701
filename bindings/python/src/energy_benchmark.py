"""`from energy_benchmark import EnergyBenchmark`: the name under which TensorForge's design uses
joule.benchmark."""
from joule.benchmark import EnergyBenchmark

__all__ = ["EnergyBenchmark"]
