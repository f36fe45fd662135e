; Both copies of a loop have its hint.
declare void @panic() cold noreturn
define void @rows(ptr %p, i64 %len, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %bad
inside:
  %at = getelementptr i64, ptr %p, i64 %k
  store i64 1, ptr %at
  %k.next = add nuw i64 %k, 1
  %is.last = icmp eq i64 %k.next, %n
  br i1 %is.last, label %done, label %loop, !llvm.loop !0
done:
  ret void
bad:
  call void @panic()
  unreachable
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 4}
; CHECK: define void @rows
; CHECK: br i1 %is.last, label {{.*}}, label %loop, !llvm.loop !0
; CHECK: br i1 {{.*}}, !llvm.loop !2
; CHECK: !1 = !{!"llvm.loop.unroll.count", i32 4}
; CHECK: !2 = distinct !{!2, !1, !3}
; CHECK: !3 = !{!"schism.checked"}
