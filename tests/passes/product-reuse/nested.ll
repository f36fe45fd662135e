; A product of which others are made: as a part of their sums, and as their factor.
define i64 @parts(i64 %x, i64 %a, i64 %b) {
  %x.1 = add i64 %x, 1
  %p = mul i64 %x, %a
  %p.1 = mul i64 %x.1, %a
  %q.5 = add i64 %p.1, 5
  %q = mul i64 %p.1, %b
  %q.more = mul i64 %q.5, %b
  %r.2 = add i64 %b, 2
  %r = mul i64 %b, %q.more
  %r.more = mul i64 %r.2, %q.more
  %sum = add i64 %p, %q
  %all = add i64 %sum, %r
  %all.more = add i64 %all, %r.more
  ret i64 %all.more
}
; CHECK-LABEL: define i64 @parts(
; CHECK: %1 = mul i64 %x, %a
; CHECK-NEXT: %2 = mul i64 %a, 1
; CHECK-NEXT: %3 = add i64 %1, %2
; CHECK: %4 = mul i64 %3, %b
; CHECK-NEXT: %5 = mul i64 %b, 5
; CHECK-NEXT: %6 = add i64 %4, %5
; CHECK: %7 = mul i64 %b, %6
; CHECK-NEXT: %8 = mul i64 %6, 2
; CHECK-NEXT: %9 = add i64 %7, %8
; CHECK: %sum = add i64 %1, %4
