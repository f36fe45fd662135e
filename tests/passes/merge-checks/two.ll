; Two checks with a load between them: one branch, and a copy that panics as before.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @f(ptr %p, i64 %len, i64 %a, i64 %width) {
first:
  %a.inside = icmp ult i64 %a, %len
  br i1 %a.inside, label %second, label %panic.a
second:
  %a.place = getelementptr float, ptr %p, i64 %a
  %x = load float, ptr %a.place
  store float 0.0, ptr %a.place
  %b = add i64 %a, %width
  %b.outside = icmp uge i64 %b, %len
  br i1 %b.outside, label %panic.b, label %third
third:
  %b.place = getelementptr float, ptr %p, i64 %b
  %y = load float, ptr %b.place
  %sum = fadd float %x, %y
  ret float %sum
panic.a:
  call void @__schism_panic(ptr null, i64 %a, ptr null)
  unreachable
panic.b:
  call void @__schism_panic(ptr null, i64 %b, ptr null)
  unreachable
}
; CHECK: first:
; CHECK: %0 = add i64 %a, %width
; CHECK-NEXT: %1 = icmp uge i64 %0, %len
; CHECK-NEXT: %2 = xor i1 %1, true
; CHECK-NEXT: %3 = select i1 %a.inside, i1 %2, i1 false
; CHECK-NEXT: br i1 %3, label %second, label %4
; CHECK: second:
; CHECK: br label %third
; CHECK: 4:
; CHECK-NEXT: br i1 %a.inside, label %5, label %panic.a
; CHECK: 5:
; CHECK: load float
; CHECK: store float 0.000000e+00
; CHECK: %8 = add i64 %a, %width
; CHECK: br label %panic.b
; CHECK: third:
; CHECK: panic.b:
; CHECK-NEXT: call void @__schism_panic(ptr null, i64 %8, ptr null)
