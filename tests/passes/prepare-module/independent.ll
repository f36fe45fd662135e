; Independent iterations are a property of the loop. A hint about unrolling counts before it.
define void @kernel(ptr %p, i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  %a = call i64 asm "/* schism: independent iterations ${0:q} */", "=&r,0"(i64 0)
  %q = getelementptr i64, ptr %p, i64 %k
  store i64 1, ptr %q
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %between, label %loop
between:
  br label %hinted
hinted:
  %j = phi i64 [ 0, %between ], [ %after, %hinted ]
  %b = call i64 asm "/* schism: independent iterations ${0:q} */", "=&r,0"(i64 0)
  %c = call i64 asm "/* schism: unroll disable ${0:q} */", "=&r,0"(i64 0)
  %r = getelementptr i64, ptr %p, i64 %j
  store i64 2, ptr %r
  %after = add i64 %j, 1
  %over = icmp eq i64 %after, %n
  br i1 %over, label %end, label %hinted
end:
  ret void
}
; CHECK-NOT: asm
; CHECK: br i1 %done, label %between, label %loop, !llvm.loop !0
; CHECK: br i1 %over, label %end, label %hinted, !llvm.loop !2
; CHECK: !1 = !{!"schism.independent_iterations"}
; CHECK: !3 = !{!"llvm.loop.unroll.disable"}
