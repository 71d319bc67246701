#!/usr/bin/env python3
"""Measures a block, functions with their work, regions, and a budget. Needs the Python package: docs/python.md."""
import joule
from energy_benchmark import EnergyBenchmark


def multiply(size):
    """Multiplies two matrices of size x size in plain Python."""
    rows = [[(i * j) % 7 for j in range(size)] for i in range(size)]
    columns = list(zip(*rows))
    return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in rows]


for device in joule.devices():
    print(device)

# A block.
with joule.measure("multiply") as measurement:
    multiply(200)
print(measurement)

# Functions, with the work of a call.
bench = EnergyBenchmark(min_seconds=1)


@bench.measure(flops=2 * 120**3)
def large():
    multiply(120)


@bench.measure(flops=2 * 40**3, samples=1)
def small():
    multiply(40)


large()
small()
bench.print_results()

# Regions: cheap edges, and the energy afterwards.
rows, product = joule.region("rows"), joule.region("product")
for _ in range(20):
    with rows:
        multiply(20)
    with product:
        multiply(60)
for region in (rows, product):
    print(f"{region.name}: {region.result()}")

# A budget, checked between two steps.
try:
    with joule.budget("1 J") as budget:
        for step in range(1000):
            multiply(100)
            budget.check()
except joule.BudgetExceeded as error:
    print(f"step {step}: {error}")
