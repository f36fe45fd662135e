; Of several hints the strongest counts; 1 means not at all. Other properties of the loop stay, older hints do not.
define void @strongest(i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  %a = call i64 asm "/* schism: unroll 4 ${0:q} */", "=&r,0"(i64 0)
  %b = call i64 asm "/* schism: unroll 8 ${0:q} */", "=&r,0"(i64 0)
  %c = call i64 asm "/* schism: unroll 2 ${0:q} */", "=&r,0"(i64 0)
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop, !llvm.loop !0
end:
  ret void
}
define void @one(i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  %a = call i64 asm "/* schism: unroll full ${0:q} */", "=&r,0"(i64 0)
  %b = call i64 asm "/* schism: unroll 1 ${0:q} */", "=&r,0"(i64 0)
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.mustprogress"}
!2 = !{!"llvm.loop.unroll.count", i32 3}
; CHECK-LABEL: define void @strongest(
; CHECK: br i1 %done, label %end, label %loop, !llvm.loop !0
; CHECK-LABEL: define void @one(
; CHECK: br i1 %done, label %end, label %loop, !llvm.loop !3
; CHECK: !0 = distinct !{!0, !1, !2}
; CHECK-NEXT: !1 = !{!"llvm.loop.mustprogress"}
; CHECK-NEXT: !2 = !{!"llvm.loop.unroll.count", i32 8}
; CHECK-NEXT: !3 = distinct !{!3, !4}
; CHECK-NEXT: !4 = !{!"llvm.loop.unroll.disable"}
