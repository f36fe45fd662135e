; SPEC panic: panic_fmt arguments located
; A formatted message is kept when it is only text, else another one stands in for it: the length is half of the odd second word.
@loc = constant i8 0
define void @f(ptr %template, ptr %args) {
  call void @panic_fmt(ptr %template, ptr %args, ptr @loc)
  unreachable
}
declare void @panic_fmt(ptr, ptr, ptr)
; CHECK: ptrtoint ptr %args to i64
; CHECK: lshr i64
; CHECK: select i1 {{...}}, ptr %template, ptr @schism.panic
; CHECK: call void @__schism_panic(ptr {{...}}, i64 {{...}}, ptr @loc)
; CHECK-NEXT: unreachable
