; RUN: lower-unwind,lower-panics,simplify
; SPEC panic: panic_bounds "out of bounds" located
; What is stored before a panic is there after it: in memory that nobody else can see, too.
define void @once(ptr noalias %o, ptr noalias readonly %v, i64 %n, i64 %x) {
  store i32 9, ptr %o
  %inside = icmp ult i64 %x, %n
  br i1 %inside, label %next, label %panic
next:
  %at = getelementptr i32, ptr %v, i64 %x
  %element = load i32, ptr %at
  store i32 %element, ptr %o
  ret void
panic:
  call void @panic_bounds(i64 %x, i64 %n, ptr null)
  unreachable
}
; Before a call of what may panic it is there as well,
define void @through_a_call(ptr noalias %o, ptr noalias readonly %v, i64 %n, i64 %x) {
  store i32 8, ptr %o
  %element = call i32 @checked(ptr %v, i64 %n, i64 %x)
  store i32 %element, ptr %o
  ret void
}
define internal i32 @checked(ptr noalias readonly %v, i64 %n, i64 %x) nounwind noinline {
  %inside = icmp ult i64 %x, %n
  br i1 %inside, label %next, label %panic
next:
  %at = getelementptr i32, ptr %v, i64 %x
  %element = load i32, ptr %at
  ret i32 %element
panic:
  call void @panic_bounds(i64 %x, i64 %n, ptr null) nounwind
  unreachable
}
; also through a pointer.
@functions = internal constant [2 x ptr] [ptr @checked, ptr @unchecked]
define void @through_a_pointer(ptr noalias %o, ptr noalias readonly %v, i64 %n, i64 %x, i1 %which) {
  store i32 7, ptr %o
  %place = getelementptr ptr, ptr @functions, i1 %which
  %function = load ptr, ptr %place
  %element = call i32 %function(ptr %v, i64 %n, i64 %x) nounwind
  store i32 %element, ptr %o
  ret void
}
; What cannot panic keeps nothing.
define void @in_vain(ptr noalias %o, ptr noalias readonly %v, i64 %n, i64 %x) {
  store i32 6, ptr %o
  %element = call i32 @unchecked(ptr %v, i64 %n, i64 %x)
  store i32 %element, ptr %o
  ret void
}
define internal i32 @unchecked(ptr noalias readonly %v, i64 %n, i64 %x) noinline {
  %at = getelementptr i32, ptr %v, i64 %x
  %element = load i32, ptr %at
  ret i32 %element
}
declare void @panic_bounds(i64, i64, ptr) noreturn nounwind
; CHECK-LABEL: define void @once(
; CHECK: store i32 9, ptr %o
; CHECK: store i32 %element, ptr %o
; CHECK: call void @__schism_panic(
; CHECK-LABEL: define void @through_a_call(
; CHECK: store i32 8, ptr %o
; CHECK-NEXT: call i32 @checked(
; CHECK-LABEL: define void @through_a_pointer(
; CHECK: store i32 7, ptr %o
; CHECK: call i32 %function(
; CHECK-LABEL: define void @in_vain(
; CHECK-NOT: store i32 6
; CHECK: call i32 @unchecked(
; CHECK: store i32 %element, ptr %o
