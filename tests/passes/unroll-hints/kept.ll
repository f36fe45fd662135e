; A loop with a hint keeps it, whatever the heuristics would say.
define float @disabled(float %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = fmul float %x, %x
  %z = fadd float %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  ret float %z
}
define float @by_two(float %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = fdiv float %x, %c
  %z = fadd float %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done, !llvm.loop !2
done:
  ret float %z
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.count", i32 2}
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !0
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !2
; CHECK: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"llvm.loop.unroll.disable"}
; CHECK-NEXT: !2 = distinct !{!2, !3}
; CHECK-NEXT: !3 = !{!"llvm.loop.unroll.count", i32 2}
