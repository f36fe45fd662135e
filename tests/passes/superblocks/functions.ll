; Two functions with rare cases, a root and a reciprocal: the fast paths first, and the original code if a guard fails.
target triple = "nvptx64-nvidia-cuda"

declare float @llvm.fabs.f32(float)
declare float @llvm.sqrt.f32(float noundef)

define void @functions(ptr %from, ptr %to) {
  %a = load float, ptr %from
  %a.size = call float @llvm.fabs.f32(float %a)
  %a.plain = fcmp olt float %a.size, 8.700000e+01
  br i1 %a.plain, label %a.fast, label %a.rare, !prof !0
a.fast:
  %a.shifted = fmul float %a, 2.000000e+00
  br label %a.done
a.rare:
  %a.special = fmul float %a, 5.000000e+00
  br label %a.done
a.done:
  %a.exp = phi float [ %a.shifted, %a.fast ], [ %a.special, %a.rare ]
  %b.rare.if = fcmp ult float %a.exp, 0.000000e+00
  br i1 %b.rare.if, label %b.rare, label %b.done, !prof !1
b.rare:
  %b.special = fadd float %a.exp, 7.000000e+00
  br label %b.done
b.done:
  %b.log = phi float [ %a.exp, %a.done ], [ %b.special, %b.rare ]
  %root = call float @llvm.sqrt.f32(float noundef %b.log)
  %inverse = fdiv float 1.000000e+00, %root
  %sum = fadd float %inverse, %a.exp
  store float %sum, ptr %to
  ret void
}
!0 = !{!"branch_weights", !"expected", i32 2000, i32 1}
!1 = !{!"branch_weights", i32 1, i32 2000}

; CHECK: define void @functions(
; CHECK-NEXT: %a = load float, ptr %from
; CHECK-NEXT: %a.size = call float @llvm.fabs.f32(float %a)
; CHECK-NEXT: %a.plain = fcmp olt float %a.size, 8.700000e+01
; CHECK-NEXT: br label %1
; CHECK: 1:
; CHECK-NEXT: %2 = fmul float %a, 2.000000e+00
; CHECK-NEXT: %3 = fcmp ult float %2, 0.000000e+00
; CHECK-NEXT: %4 = call float @llvm.nvvm.rsqrt.approx.ftz.f(float %2)
; CHECK-NEXT: %5 = fmul float %2, %4
; CHECK-NEXT: %6 = fmul float %4, 5.000000e-01
; CHECK-NEXT: %7 = fneg float %5
; CHECK-NEXT: %8 = call float @llvm.fma.f32(float %7, float %5, float %2)
; CHECK-NEXT: %9 = call float @llvm.fma.f32(float %8, float %6, float %5)
; CHECK-NEXT: %10 = fcmp oge float %9, 0x3CD0000000000000
; CHECK-NEXT: %11 = call float @llvm.nvvm.rcp.approx.ftz.f(float %9)
; CHECK-NEXT: %12 = fneg float %9
; CHECK-NEXT: %13 = call float @llvm.fma.f32(float %12, float %11, float 1.000000e+00)
; CHECK-NEXT: %14 = call float @llvm.fma.f32(float %11, float %13, float %11)
; CHECK-NEXT: %15 = call float @llvm.fabs.f32(float %13)
; CHECK-NEXT: %16 = fcmp olt float %15, 0x3F50000000000000
; CHECK-NEXT: %17 = xor i1 %3, true
; CHECK-NEXT: %18 = freeze i1 %10
; CHECK-NEXT: %19 = freeze i1 %16
; CHECK-NEXT: %20 = and i1 %18, %19
; CHECK-NEXT: %21 = freeze i1 %a.plain
; CHECK-NEXT: %22 = and i1 %20, %21
; CHECK-NEXT: %23 = freeze i1 %17
; CHECK-NEXT: %24 = and i1 %22, %23
; CHECK-NEXT: br i1 %24, label %b.done, label %25, !prof !0
; CHECK: 25:
; CHECK-NEXT: br i1 %a.plain, label %a.fast, label %a.rare, !prof
; CHECK: %b.log = phi float [ %a.exp, %a.done ], [ %b.special, %b.rare ]
; CHECK-NEXT: %root = call float @llvm.sqrt.f32(float noundef %b.log)
; CHECK-NEXT: %inverse = fdiv float 1.000000e+00, %root
; CHECK-NEXT: br label %b.done
; CHECK: b.done:
; CHECK-NEXT: %27 = phi float [ %a.exp, %26 ], [ %2, %1 ]
; CHECK-NEXT: %28 = phi float [ %inverse, %26 ], [ %14, %1 ]
; CHECK-NEXT: %sum = fadd float %28, %27
; CHECK-NEXT: store float %sum, ptr %to
