; Turns that wait for memory are made one until there are as many requests as are answered at once. Elements that stand side by side are
; one request for four.

define float @far(ptr %a, ptr %b, i64 %step, i64 %len) {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %more, %loop ]
  %a.at = getelementptr float, ptr %a, i64 %k
  %x = load float, ptr %a.at
  %b.at = getelementptr float, ptr %b, i64 %k
  %y = load float, ptr %b.at
  %product = fmul float %x, %y
  %more = fadd float %sum, %product
  %next = add i64 %k, %step
  %go = icmp ult i64 %next, %len
  br i1 %go, label %loop, label %done
done:
  ret float %more
}

define float @side_by_side(ptr %a, ptr %b, i64 %step, i64 %len) {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %more, %loop ]
  %a.at = getelementptr float, ptr %a, i64 %k
  %x = load float, ptr %a.at
  %place = mul i64 %k, %step
  %b.at = getelementptr float, ptr %b, i64 %place
  %y = load float, ptr %b.at
  %product = fmul float %x, %y
  %more = fadd float %sum, %product
  %next = add i64 %k, 1
  %go = icmp ult i64 %next, %len
  br i1 %go, label %loop, label %done
done:
  ret float %more
}
; CHECK: define float @far
; CHECK: br i1 %go, label %loop, label %done, !llvm.loop !0
; CHECK: define float @side_by_side
; CHECK: br i1 %go, label %loop, label %done, !llvm.loop !2
; CHECK: !1 = !{!"llvm.loop.unroll.count", i32 8}
; CHECK: !3 = !{!"llvm.loop.unroll.count", i32 16}
