; Nothing here depends on a target: a loop stays scalar.
define void @kernel(ptr noalias %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr float, ptr %p, i64 %i
  %v = load float, ptr %q
  %w = fmul float %v, 2.0
  store float %w, ptr %q
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK: define void @kernel(
; CHECK: fmul float
; CHECK-NOT: <4 x float>
; CHECK-NOT: fmul
; CHECK: ret void
