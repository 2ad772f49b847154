"""Welch's t-test: whether the means of two samples with different variances differ by more than chance.

Source: B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
Biometrika 34, 1947.
"""
import math
import statistics


def student_tail(t, freedom, steps=2000):
    """Returns the probability that Student's t with `freedom` degrees of freedom is at least |t| away from 0.

    Integrates the density by Simpson's rule over x = sqrt(freedom) tan(angle), where it is a power of the cosine.
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    step = angle / steps
    weights = [1] + [4, 2] * (steps // 2 - 1) + [4, 1]
    inside = step / 3 * sum(w * math.cos(i * step) ** (freedom - 1) for i, w in enumerate(weights))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return max(0.0, 1 - 2 * scale * inside)


def welch(a, b):
    """Returns (t, degrees of freedom, p) of two samples of at least two values each; p is two-sided.

    Returns None if the values of each sample are all equal, because the test then has no variance to compare with.
    """
    var_a, var_b = (statistics.variance(x) / len(x) for x in (a, b))
    if var_a + var_b == 0:
        return None
    t = (statistics.mean(a) - statistics.mean(b)) / math.sqrt(var_a + var_b)
    freedom = (var_a + var_b) ** 2 / (var_a ** 2 / (len(a) - 1) + var_b ** 2 / (len(b) - 1))
    return t, freedom, student_tail(t, freedom)
