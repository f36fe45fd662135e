; Panics that show what is not in locals, or in locals of which not all is known, stay.
@text = private constant [4 x i8] c"text"
@place = private constant { ptr, i64, i32, i32 } { ptr @text, i64 4, i32 42, i32 7 }
@template = private constant [2 x i8] c"\C0\00"
@changes = private global [2 x i8] c"\C0\00"
@u64 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 19, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@str = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 3, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@to.str = private constant [1 x { i64, ptr, ptr, i64 }] [{ i64, ptr, ptr, i64 } { i64 0, ptr @str, ptr null, i64 0 }]
@reference = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 33, i32 1547788061, ptr null, i64 0, ptr @to.str, i64 1 }
declare void @__schism_panic(ptr, i64, ptr) cold noreturn nounwind
declare void @__schism_panic_format(ptr, ptr, ptr) cold noreturn nounwind
declare void @keep(ptr)
; CHECK-NOT: @schism.shape =

; CHECK: define void @a_text_of_the_programs
; CHECK: call void @__schism_panic(ptr %text,
define void @a_text_of_the_programs(ptr %text) {
  call void @__schism_panic(ptr %text, i64 4, ptr @place)
  unreachable
}

; CHECK: define void @a_text_that_changes
; CHECK: call void @__schism_panic(ptr @changes,
define void @a_text_that_changes() {
  call void @__schism_panic(ptr @changes, i64 2, ptr @place)
  unreachable
}

; CHECK: define void @a_value_elsewhere
; CHECK: call void @__schism_panic_format(
define void @a_value_elsewhere(ptr %value) {
  %list = alloca [2 x i64]
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @u64, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; CHECK: define void @a_text_in_a_local
; CHECK: call void @__schism_panic_format(
define void @a_text_in_a_local(ptr %text, i64 %len) {
  %list = alloca [2 x i64]
  %value = alloca [2 x i64]
  store ptr %text, ptr %value
  %l = getelementptr i8, ptr %value, i64 8
  store i64 %len, ptr %l
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @reference, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; CHECK: define void @a_local_that_others_have
; CHECK: call void @__schism_panic_format(
define void @a_local_that_others_have(i64 %x) {
  %list = alloca [2 x i64]
  %value = alloca i64
  store i64 %x, ptr %value
  call void @keep(ptr %value)
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @u64, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; Whoever reads the list has the value's address.
; CHECK: define void @a_local_by_another
; CHECK: call void @__schism_panic_format(
define void @a_local_by_another(i64 %x) {
  %list = alloca [2 x i64]
  %value = alloca i64
  %other = alloca ptr
  store i64 %x, ptr %value
  store ptr %value, ptr %other
  %again = load ptr, ptr %other
  store i64 1, ptr %again
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @u64, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; CHECK: define void @code_in_place_of_a_description
; CHECK: call void @__schism_panic_format(
define void @code_in_place_of_a_description(i64 %x) {
  %list = alloca [2 x i64]
  %value = alloca i64
  store i64 %x, ptr %value
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @keep, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; Which of the two lists it is is not known.
; CHECK: define void @one_of_two
; CHECK: call void @__schism_panic_format(
define void @one_of_two(i1 %which) {
  %one = alloca [2 x i64]
  %two = alloca [2 x i64]
  %list = select i1 %which, ptr %one, ptr %two
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}
