; Indices that are constants, numbers and expressions, and addresses from a vector of addresses.
@g = external global i8
declare void @panic() cold noreturn
define i32 @number(ptr %p, i32 %n) {
  %len = zext nneg i32 %n to i64
  %inside = icmp ult i64 5, %len
  br i1 %inside, label %in, label %out
in:
  %at = getelementptr i32, ptr %p, i64 5
  %v = load i32, ptr %at
  ret i32 %v
out:
  call void @panic()
  unreachable
}
; CHECK: define i32 @number
; CHECK: getelementptr i32, ptr %p, i64 5
define i32 @expression(ptr %p, i32 %n) {
  %len = zext nneg i32 %n to i64
  %far = add i64 ptrtoint (ptr @g to i64), 1
  %a = icmp ult i64 %far, %len
  %b = icmp ult i64 ptrtoint (ptr @g to i64), %len
  %both = and i1 %a, %b
  br i1 %both, label %in, label %out
in:
  %at = getelementptr i32, ptr %p, i64 ptrtoint (ptr @g to i64)
  %v = load i32, ptr %at
  ret i32 %v
out:
  call void @panic()
  unreachable
}
; CHECK: define i32 @expression
; CHECK: icmp ult i32 ptrtoint (ptr @g to i32), %n
define <2 x ptr> @vector(<2 x ptr> %p, i64 %x, i64 %y, i64 %z) {
  %row = mul i64 %x, %y
  %a = getelementptr i32, <2 x ptr> %p, i64 %row
  %b = getelementptr i32, <2 x ptr> %a, i64 %z
  ret <2 x ptr> %b
}
; CHECK: define <2 x ptr> @vector
; CHECK: add i64 %row, %z
; CHECK-NEXT: getelementptr i32, <2 x ptr> %p
