; SPEC type: U32 Display
; SPEC type: Struct Debug crate::List
; SPEC type-part: 8 2 next
; SPEC type: Enum Debug
; SPEC type-part: 0 - 8
; SPEC type-part: 1 1
; SPEC formatter: display_u32 0
; SPEC formatter: debug_list 1
; SPEC formatter: has_body 0
; SPEC formatter: absent 0
; SPEC formatter: called 0
; Formatting functions without a body become descriptions, in code and in vtables; a type may have itself as a part.
; What has a body stays, and so does what is called: something formats there.
@vtable = constant [2 x ptr] [ptr null, ptr @debug_list]
define void @f(ptr %argument) {
  store ptr @display_u32, ptr %argument
  store ptr @has_body, ptr %argument
  store ptr @called, ptr %argument
  %r = call i1 @called(ptr %argument, ptr %argument)
  ret void
}
declare i1 @display_u32(ptr, ptr)
declare i1 @debug_list(ptr, ptr)
declare i1 @called(ptr, ptr)
define i1 @has_body(ptr %v, ptr %f) {
  ret i1 false
}
; CHECK: @vtable = constant [2 x ptr] [ptr null, ptr @schism.type.1]
; CHECK: @schism.type.0 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 18, i32 1547788061,
; CHECK: @schism.type.1 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 292,
; CHECK: @schism.type.2 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 294,
; CHECK: { i64 0, ptr null, ptr null, i64 8 }, { i64, ptr, ptr, i64 } { i64 1, ptr @schism.type.1, ptr null, i64 0 }
; CHECK: store ptr @schism.type.0, ptr %argument
; CHECK-NEXT: store ptr @has_body, ptr %argument
; CHECK-NEXT: store ptr @called, ptr %argument
; CHECK-NOT: @display_u32
; CHECK-NOT: @debug_list
