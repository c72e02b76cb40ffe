"""Values that spec/gp/likelihoods/values_spec.lua compares with: log densities in both tails, their average over a Gaussian latent
value, and the predictive density, in 40 digits by mpmath (pip install mpmath).

  python3 scripts/reference/likelihoods.py > spec/gp/likelihoods/values.lua
"""
import textwrap

from mpmath import mp, mpf, exp, log, log1p, loggamma, ncdf, erfc, sqrt, pi, quad, linspace

mp.dps = 40


def log_phi(x):
    return log(erfc(-x / sqrt(2)) / 2)


def sigmoid(x):
    return 1 / (1 + exp(-x))


CUTS = [mpf("-1"), mpf("0.25"), mpf("1.5")]


def interval(F):
    def density(f, y):
        if y == 1:
            return log(F(CUTS[0] - f))
        if y == 4:
            return log(F(f - CUTS[2]))
        a, b = CUTS[y - 2] - f, CUTS[y - 1] - f
        if a + b > 0:
            a, b = -b, -a
        return log(F(b) - F(a))
    return density


def student(f, y, scale=mpf("0.7"), df=mpf("3.5")):
    z = (y - f) / scale
    return (loggamma((df + 1) / 2) - loggamma(df / 2) - log(df * pi) / 2 - log(scale) - (df + 1) / 2 * log1p(z * z / df))


def gamma(f, y, a=mpf("2.5")):
    return a * log(a) - a * f - loggamma(a) + (a - 1) * log(y) - a * y * exp(-f)


def beta(f, y, c=mpf("6")):
    a, b = c * sigmoid(f), c * sigmoid(-f)
    return loggamma(c) - loggamma(a) - loggamma(b) + (a - 1) * log(y) + (b - 1) * log(1 - y)


def negative_binomial(f, y, dispersion=mpf("0.4")):
    r, mu = 1 / dispersion, exp(f)
    return loggamma(y + r) - loggamma(r) - loggamma(y + 1) + y * log(mu / (r + mu)) + r * log(r / (r + mu))


KINDS = [
    ("bernoulli", '{link = "probit"}', lambda f, y: log_phi(f if y else -f), [1, 0]),
    ("bernoulli", '{link = "logit"}', lambda f, y: log(sigmoid(f if y else -f)), [1, 0]),
    ("poisson", "{}", lambda f, y: y * f - exp(f) - loggamma(y + 1), [0, 3, 40]),
    ("negative_binomial", "{dispersion = 0.4}", negative_binomial, [0, 3, 40]),
    ("student_t", "{scale = 0.7, df = 3.5}", student, [mpf("-1.3"), mpf("4")]),
    ("laplace", "{scale = 0.7}", lambda f, y, s=mpf("0.7"): -abs(y - f) / s - log(2 * s), [mpf("-1.3"), mpf("4")]),
    ("gamma", "{shape = 2.5}", gamma, [mpf("0.3"), mpf("5")]),
    ("exponential", "{}", lambda f, y: gamma(f, y, mpf(1)), [mpf("0.3"), mpf("5")]),
    ("beta", "{concentration = 6}", beta, [mpf("0.03"), mpf("0.7")]),
    ("ordinal", '{cuts = {-1, 0.25, 1.5}, link = "probit"}', interval(ncdf), [1, 2, 3, 4]),
    ("ordinal", '{cuts = {-1, 0.25, 1.5}, link = "logit"}', interval(sigmoid), [1, 2, 3, 4]),
]

# Latent values, of which the outer ones are far in the tails, and moments of Gaussian ones.
PLACES = [mpf("-30"), mpf("-8"), mpf("-0.6"), mpf("1.1"), mpf("9"), mpf("25")]
MOMENTS = [(mpf("-0.4"), mpf("0.3")), (mpf("0.9"), mpf("1.2"))]


def average(g, mean, var, kink):
    """E g(f) of f ~ N(mean, var); kink: where g is not smooth."""
    sd = sqrt(var)
    ends = sorted([mean + 14 * sd * t for t in linspace(-1, 1, 15)] + ([kink] if kink is not None else []))
    return quad(lambda f: g(f) * exp(-(f - mean) ** 2 / (2 * var)) / sqrt(2 * pi * var), ends)


def text(v):
    return mp.nstr(v, 18)


def main():
    mp.dps = 60                                        # differences of distribution functions lose digits far out
    print("-- Written by scripts/reference/likelihoods.py:")
    print("-- {kind, options, y, places, log densities, {{mean, var, expected, log predictive}, ...}}.")
    print("return {")
    for kind, options, density, ys in KINDS:
        for y in ys:
            places = [f for f in PLACES if kind not in ("poisson", "negative_binomial") or f < 20]
            dense = ", ".join(text(density(f, y)) for f in places)
            kink = y if kind == "laplace" else None
            mp.dps = 25
            rows = []
            for mean, var in MOMENTS:
                rows.append("{%s, %s, %s, %s}" % (text(mean), text(var), text(average(lambda f: density(f, y), mean, var, kink)),
                                                  text(log(average(lambda f: exp(density(f, y)), mean, var, kink)))))
            mp.dps = 60
            dense = textwrap.fill(dense, 120, subsequent_indent="     ")
            print('  {"%s", %s, %s, {%s},\n    {%s},\n    {%s}},' % (kind, options, text(mpf(y)), ", ".join(map(text, places)), dense,
                                                             (",\n     ").join(rows)))
    print("}")


main()
