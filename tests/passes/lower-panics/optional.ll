; SPEC type: Dyn Debug
; SPEC type: Reference Debug
; SPEC type-part: 0 0
; SPEC type: Arguments Display
; SPEC panic: failed formatted located
; SPEC message: left {0:?}
; SPEC unless-null: 2 left {0:?}: {1}
; SPEC value: 0 2 1
; SPEC value: 2 2 2
; A template for calls without a message of their own, and one for those with. A value of two words is two words in memory.
@loc = constant i8 0
define void @f(ptr %left, ptr %vtable, ptr %template, ptr %args) {
  call void @failed(ptr %left, ptr %vtable, ptr %template, ptr %args, ptr @loc)
  unreachable
}
declare void @failed(ptr, ptr, ptr, ptr, ptr)
; CHECK: @schism.type.parts = private unnamed_addr constant [1 x { i64, ptr, ptr, i64 }] [{ i64, ptr, ptr, i64 } { i64 0, ptr @schism.type.0, ptr null, i64 0 }]
; CHECK: %1 = icmp eq ptr %template, null
; CHECK-NEXT: %2 = select i1 %1, ptr @schism.panic, ptr @schism.panic.1
; CHECK-NEXT: store ptr %left, ptr %panic.value
; CHECK-NEXT: getelementptr inbounds i8, ptr %panic.value, i64 8
; CHECK-NEXT: store ptr %vtable
; CHECK: call void @__schism_panic_format(ptr %2, ptr %panic.arguments, ptr @loc)
