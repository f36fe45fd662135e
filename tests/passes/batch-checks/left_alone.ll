; A barrier is not copied; one check alone has nothing to be made with; a division is not made earlier.
declare void @panic() cold noreturn nounwind
declare void @barrier() convergent

define i64 @f(ptr %p, i64 %len, i64 %i) {
  %a.in = icmp ult i64 %i, %len
  br i1 %a.in, label %a, label %panic
a:
  call void @barrier()
  %b.in = icmp ne i64 %i, 7
  br i1 %b.in, label %b, label %panic
b:
  %zero = icmp eq i64 %len, 0
  br i1 %zero, label %panic, label %divide
divide:
  %q = udiv i64 %i, %len
  %c.in = icmp ult i64 %q, 9
  br i1 %c.in, label %c, label %panic
c:
  ret i64 %q
panic:
  call void @panic()
  unreachable
}
; CHECK: br i1 %a.in, label %a, label %panic
; CHECK: a:
; CHECK-NEXT: call void @barrier()
; CHECK: br i1 %checks.hold, label %b, label %checks
; CHECK: divide:
; CHECK: br i1 %c.in, label %c, label %panic
; CHECK: checks:
; CHECK-NEXT: br i1 %b.in, label %checks.copy, label %checks.panic
; CHECK: checks.copy:
; CHECK-NEXT: br label %checks.panic
