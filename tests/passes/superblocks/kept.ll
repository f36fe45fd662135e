; What stays: one reciprocal alone, cases that are not so rare, what is inexact anyway, and checks with a store between them.
target triple = "nvptx64-nvidia-cuda"

declare float @llvm.sqrt.f32(float)

; CHECK: define float @alone(
; CHECK-NEXT: %inverse = fdiv float 1.000000e+00, %x
; CHECK-NEXT: ret float %inverse
define float @alone(float %x) {
  %inverse = fdiv float 1.000000e+00, %x
  ret float %inverse
}

; CHECK: define float @even(
; CHECK-NEXT: %a = fcmp olt float %x, 1.000000e+00
; CHECK-NOT: freeze
; CHECK: }
define float @even(float %x, float %y) {
  %a = fcmp olt float %x, 1.000000e+00
  %first = select i1 %a, float %x, float %y, !prof !0
  %b = fcmp olt float %y, 2.000000e+00
  %second = select i1 %b, float %first, float %y, !prof !0
  ret float %second
}

; CHECK: define float @inexact(
; CHECK-NOT: nvvm
; CHECK: }
define float @inexact(float %x) {
  %root = call afn float @llvm.sqrt.f32(float %x)
  %first = fdiv arcp float 1.000000e+00, %root
  %second = fdiv float 1.000000e+00, %first, !fpmath !1
  %third = fdiv float 2.000000e+00, %second
  %fourth = fdiv float 1.000000e+00, %third
  ret float %fourth
}

; CHECK: define void @store(
; CHECK-NOT: nvvm
; CHECK: }
define void @store(float %x, float %y, ptr %to) {
  %first = fdiv float 1.000000e+00, %x
  store float %first, ptr %to
  %second = fdiv float 1.000000e+00, %y
  store float %second, ptr %to
  ret void
}
!0 = !{!"branch_weights", i32 20, i32 1}
!1 = !{float 2.500000e+00}
