; SPEC panic: panic_fmt arguments located
; The two words of a formatted message are handed on as they are.
@loc = constant i8 0
define void @f(ptr %template, ptr %args) {
  call void @panic_fmt(ptr %template, ptr %args, ptr @loc)
  unreachable
}
declare void @panic_fmt(ptr, ptr, ptr)
; CHECK: define void @f(ptr %template, ptr %args)
; CHECK-NEXT: call void @__schism_panic_format(ptr %template, ptr %args, ptr @loc)
; CHECK-NEXT: unreachable
; CHECK: declare void @__schism_panic_format(ptr, ptr, ptr) #0
; CHECK: cold
