; SPEC fast-math: finite
define double @f(double %a, double %b) {
  %sum = fadd double %a, %b
  ret double %sum
}
; CHECK: %sum = fadd fast double %a, %b
