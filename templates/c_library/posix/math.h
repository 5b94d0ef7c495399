#ifndef HEXRUN_MATH_H
#define HEXRUN_MATH_H

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define isnan(number) __builtin_isnan(number)
#define isinf(number) __builtin_isinf(number)
#define isfinite(number) __builtin_isfinite(number)

double ceil(double number);
double floor(double number);
double rint(double number);
float rintf(float number);
float sqrtf(float number);
double fabs(double number);
float fabsf(float number);
double sqrt(double number);
double ldexp(double number, int exponent);
float ldexpf(float number, int exponent);
double nearbyint(double number);
float nearbyintf(float number);

#endif
