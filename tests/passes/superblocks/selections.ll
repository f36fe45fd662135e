; Rare cases that became selections, in a loop of one block.
target triple = "nvptx64-nvidia-cuda"

define float @loop(ptr %from, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.000000e+00, %entry ], [ %new, %loop ]
  %at = getelementptr float, ptr %from, i64 %i
  %x = load float, ptr %at
  %small = fcmp olt float %x, 1.000000e+00
  %large = fmul float %x, 3.000000e+00
  %scaled = select i1 %small, float %large, float %x, !prof !1
  %shift = select i1 %small, float 9.000000e+00, float 4.000000e+00, !prof !1
  %inverse = fdiv float 1.000000e+00, %scaled
  %both = fadd float %inverse, %shift
  %new = fadd float %sum, %both
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done, !prof !0
done:
  ret float %new
}
!0 = !{!"branch_weights", i32 2000, i32 1}
!1 = !{!"branch_weights", i32 1, i32 2000}

; CHECK: entry:
; CHECK-NEXT: br label %0
; CHECK: 0:
; CHECK-NEXT: %i = phi i64 [ 0, %entry ], [ %next, %loop ]
; CHECK-NEXT: %sum = phi float [ 0.000000e+00, %entry ], [ %new, %loop ]
; CHECK: %large = fmul float %x, 3.000000e+00
; CHECK-NEXT: br label %1
; CHECK: 1:
; CHECK-NEXT: %2 = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)
; CHECK-NEXT: %3 = fneg float %x
; CHECK-NEXT: %4 = call float @llvm.fma.f32(float %3, float %2, float 1.000000e+00)
; CHECK-NEXT: %5 = call float @llvm.fma.f32(float %2, float %4, float %2)
; CHECK-NEXT: %6 = call float @llvm.fabs.f32(float %4)
; CHECK-NEXT: %7 = fcmp olt float %6, 0x3F50000000000000
; CHECK-NEXT: %8 = xor i1 %small, true
; CHECK-NOT: select
; CHECK: br i1 %11, label %loop, label %12, !prof
; CHECK: %scaled = select i1 %small, float %large, float %x, !prof
; CHECK-NEXT: %shift = select i1 %small, float 9.000000e+00, float 4.000000e+00, !prof
; CHECK-NEXT: %inverse = fdiv float 1.000000e+00, %scaled
; CHECK-NEXT: br label %loop
; CHECK: loop:
; CHECK-NEXT: %13 = phi float [ %shift, %12 ], [ 4.000000e+00, %1 ]
; CHECK-NEXT: %14 = phi float [ %inverse, %12 ], [ %5, %1 ]
; CHECK-NEXT: %both = fadd float %14, %13
; CHECK-NEXT: %new = fadd float %sum, %both
; CHECK: br i1 %more, label %0, label %done, !prof
