; Elements of a column, in one block and behind a branch: one product, and constants times the width. A sum that is the same on both ways
; to a phi is that sum; another one is not, nor is the product of another factor.
define void @column(ptr %p, i64 %row, i64 %lane, i64 %width, i1 %go) {
begin:
  %first = add i64 %row, %lane
  %a = mul i64 %first, %width
  %a.at = getelementptr float, ptr %p, i64 %a
  store float 1.0, ptr %a.at
  %second = or disjoint i64 %lane, 8
  br i1 %go, label %more, label %join
more:
  %again = add i64 %lane, 8
  br label %join
join:
  %same = phi i64 [ %second, %begin ], [ %again, %more ]
  %sum = add i64 %row, %same
  %b = mul i64 %width, %sum
  %b.at = getelementptr float, ptr %p, i64 %b
  store float 2.0, ptr %b.at
  ret void
}

define i64 @others(i64 %x, i64 %y, i64 %z, i1 %go) {
begin:
  %a = mul i64 %x, %y
  br i1 %go, label %more, label %join
more:
  br label %join
join:
  %differs = phi i64 [ %x, %begin ], [ %z, %more ]
  %more.8 = add i64 %differs, 8
  %b = mul i64 %more.8, %y
  %x.8 = add i64 %x, 8
  %c = mul i64 %x.8, %z
  %ab = xor i64 %a, %b
  %abc = xor i64 %ab, %c
  ret i64 %abc
}
; CHECK: define void @column
; CHECK: %0 = add i64
; CHECK-NEXT: %1 = mul i64 %0, %width
; CHECK: join:
; CHECK: %2 = mul i64 %width, 8
; CHECK-NEXT: %3 = add i64 %1, %2
; CHECK-NEXT: getelementptr float, ptr %p, i64 %3
; CHECK: define i64 @others
; CHECK: %a = mul i64 %x, %y
; CHECK: %b = mul i64 %more.8, %y
; CHECK: %c = mul i64 %x.8, %z
