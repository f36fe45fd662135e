; What stays: lengths of 32 bits or more, indices that are too far apart, checks that are not joined, and sums that are no small numbers.

; CHECK: define i1 @long(
; CHECK-NOT: icmp ult i32
; CHECK: }
define i1 @long(i64 %len, i32 %far.32, i64 %at) {
  %far = zext nneg i32 %far.32 to i64
  %a = icmp ult i64 %at, %len
  %next = add i64 %at, %far
  %b = icmp ult i64 %next, %len
  %both = select i1 %a, i1 %b, i1 false
  ret i1 %both
}

; CHECK: define i1 @unsigned(
; CHECK-NOT: icmp ult i32
; CHECK: }
define i1 @unsigned(i32 %len.32, i32 %far.32, i64 %at) {
  %len = zext i32 %len.32 to i64
  %far = zext nneg i32 %far.32 to i64
  %a = icmp ult i64 %at, %len
  %next = add i64 %at, %far
  %b = icmp ult i64 %next, %len
  %both = select i1 %a, i1 %b, i1 false
  ret i1 %both
}

; CHECK: define i1 @far(
; CHECK-NOT: icmp ult i32
; CHECK: }
define i1 @far(i32 %len.32, i32 %far.32, i64 %at) {
  %len = zext nneg i32 %len.32 to i64
  %far = zext i32 %far.32 to i64
  %a = icmp ult i64 %at, %len
  %next = add i64 %at, %far
  %b = icmp ult i64 %next, %len
  %both = select i1 %a, i1 %b, i1 false
  ret i1 %both
}

; CHECK: define i1 @order(
; CHECK-NOT: icmp ult i32
; CHECK: }
define i1 @order(i32 %len.32, i64 %at, i1 %known) {
  %len = zext nneg i32 %len.32 to i64
  %next = add i64 %at, 1
  %a = icmp ult i64 %next, %len
  %both = select i1 %known, i1 %a, i1 false
  %b = icmp ult i64 %at, %len
  %either = or i1 %both, %b
  ret i1 %either
}

; CHECK: define i1 @sums(
; CHECK-NOT: icmp eq i32
; CHECK: icmp eq i64 %a, %b
; CHECK: icmp ult i64 %c, %b
; CHECK: }
define i1 @sums(i32 %x, i32 %y) {
  %x.wide = zext i32 %x to i64
  %y.wide = zext i32 %y to i64
  %a = add i64 %x.wide, 1
  %b = sub i64 %y.wide, 1
  %same = icmp eq i64 %a, %b
  %c = add i64 %x.wide, 2
  %less = icmp ult i64 %c, %b
  %both = and i1 %same, %less
  ret i1 %both
}
