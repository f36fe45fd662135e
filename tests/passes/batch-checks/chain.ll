; Three checks, the last one the other way round, and two that share what panics. What depends on memory begins a chain of its own.
declare void @panic(i64, i64) cold noreturn nounwind

define float @f(ptr %p, i64 %len, i64 %i) {
begin:
  %a.in = icmp ult i64 %i, %len
  br i1 %a.in, label %a, label %panic
a:
  %a.at = getelementptr float, ptr %p, i64 %i
  %x = load float, ptr %a.at
  store float 0.0, ptr %p
  %j = add nuw i64 %i, 1
  %b.in = icmp ult i64 %j, %len
  br i1 %b.in, label %b, label %panic
b:
  %b.at = getelementptr float, ptr %p, i64 %j
  %y = load float, ptr %b.at
  %k = add nuw i64 %i, 2
  %c.out = icmp uge i64 %k, %len
  br i1 %c.out, label %panic.c, label %c
c:
  %c.at = getelementptr i64, ptr %p, i64 %k
  %found = load i64, ptr %c.at
  %d.in = icmp ult i64 %found, %len
  br i1 %d.in, label %d, label %panic.d
d:
  %sum = fadd float %x, %y
  ret float %sum
panic:
  %at = phi i64 [ %i, %begin ], [ %j, %a ]
  call void @panic(i64 %at, i64 %len)
  unreachable
panic.c:
  %bits = fptoui float %y to i64
  call void @panic(i64 %k, i64 %bits)
  unreachable
panic.d:
  call void @panic(i64 %found, i64 %len)
  unreachable
}
; CHECK: begin:
; CHECK-NEXT: %a.in = icmp ult i64 %i, %len
; CHECK-NEXT: %j = add nuw i64 %i, 1
; CHECK-NEXT: %b.in = icmp ult i64 %j, %len
; CHECK-NEXT: %k = add nuw i64 %i, 2
; CHECK-NEXT: %c.out = icmp uge i64 %k, %len
; CHECK-NEXT: %0 = xor i1 %c.out, true
; CHECK-NEXT: %checks.hold = select i1 %b.in, i1 %0, i1 false
; CHECK-NEXT: %checks.hold1 = select i1 %a.in, i1 %checks.hold, i1 false
; CHECK-NEXT: br i1 %checks.hold1, label %a, label %checks
; CHECK: a:
; CHECK: store float
; CHECK-NEXT: br label %b
; CHECK: b:
; CHECK: br label %c
; CHECK: br i1 %d.in, label %d, label %panic.d
; CHECK: panic.d:
; CHECK-NEXT: call void @panic(i64 %found, i64 %len)
; CHECK: checks:
; CHECK-NEXT: br i1 %a.in, label %checks.copy, label %checks.panic
; CHECK: checks.copy:
; CHECK-NEXT: getelementptr
; CHECK-NEXT: load
; CHECK-NEXT: store float
; CHECK-NEXT: br i1 %b.in, label %checks.copy2, label %checks.panic
; CHECK: checks.copy2:
; CHECK-NEXT: getelementptr
; CHECK-NEXT: %4 = load float
; CHECK-NEXT: br label %checks.panic3
; CHECK: checks.panic:
; CHECK-NEXT: phi i64 [ %i, %checks ], [ %j, %checks.copy ]
; CHECK: checks.panic3:
; CHECK-NEXT: %6 = fptoui float %4 to i64
; CHECK-NEXT: call void @panic(i64 %k, i64 %6)
