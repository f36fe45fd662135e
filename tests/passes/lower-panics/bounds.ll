; SPEC type: U64 Display
; SPEC panic: panic_bounds_check formatted located
; SPEC message: len {0} index {1}
; SPEC value: 1 1 0
; SPEC value: 0 1 0
; The message is made of the function's arguments, in the block that panics; the location is the last argument.
@loc = constant i8 0
define i32 @f(i64 %i) {
  %ok = icmp ult i64 %i, 8
  br i1 %ok, label %good, label %bad
good:
  ret i32 1
bad:
  call void @panic_bounds_check(i64 %i, i64 8, ptr @loc)
  unreachable
}
declare void @panic_bounds_check(i64, i64, ptr)
; CHECK: @schism.panic = private unnamed_addr constant [20 x i8] c"\04len \C8\00\00\07 index \C8\01\00\00"
; CHECK: @schism.type.0 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 19, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
; CHECK: define i32 @f(i64 %i)
; CHECK: %panic.arguments = alloca [4 x i64]
; CHECK: icmp ult i64 %i, 8
; CHECK-NEXT: br i1
; CHECK: good:
; CHECK-NEXT: ret i32 1
; CHECK: bad:
; CHECK-NEXT: store i64 8, ptr %panic.value
; CHECK-NEXT: store ptr %panic.value, ptr %panic.arguments
; CHECK: store ptr @schism.type.0, ptr
; CHECK: store i64 %i, ptr
; CHECK: call void @__schism_panic_format(ptr @schism.panic, ptr %panic.arguments, ptr @loc)
; CHECK-NEXT: unreachable
