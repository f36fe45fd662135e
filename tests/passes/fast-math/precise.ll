; Without a word from the launch nothing changes.
define float @f(float %a, float %b) {
  %sum = fadd float %a, %b
  ret float %sum
}
; CHECK: %sum = fadd float %a, %b
