; SPEC panic: panic_fmt arguments located
; A message with arguments: the array of arguments and the functions that it names go.
@loc = constant i8 0
@template = constant [4 x i8] c"i={}"
define void @kernel(i64 %i) {
  %v = alloca i64
  %args = alloca [1 x { ptr, ptr }], align 8
  store i64 %i, ptr %v
  store ptr %v, ptr %args
  %f = getelementptr i8, ptr %args, i64 8
  store ptr @display, ptr %f
  %word = ptrtoint ptr %args to i64, !schism.arguments !0
  %bit = and i64 %word, 1
  %text = icmp ne i64 %bit, 0
  %half = lshr i64 %word, 1
  %length = select i1 %text, i64 %half, i64 9
  %pointer = select i1 %text, ptr @template, ptr @loc
  call void @__schism_panic(ptr %pointer, i64 %length, ptr @loc)
  unreachable
}
define internal i1 @display(ptr %value, ptr %formatter) {
  ret i1 false
}
declare void @__schism_panic(ptr, i64, ptr)
!0 = !{}
; CHECK: define void @kernel
; CHECK-NOT: alloca
; CHECK: call void @__schism_panic(ptr {{...}}@loc, i64 9,
; CHECK-NOT: @display
