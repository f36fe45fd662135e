; Panics that show plain values: a text, numbers of all sizes, a local that changes, a reference, a width, a struct.
@text = private constant [4 x i8] c"text"
@place = private constant { ptr, i64, i32, i32 } { ptr @text, i64 4, i32 42, i32 7 }
@template = private constant [2 x i8] c"\C0\00"
@other = private constant [2 x i8] c"\C1\00"
@u64 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 19, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@i128 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 12, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@f32 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 25, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@to.u64 = private constant [1 x { i64, ptr, ptr, i64 }] [{ i64, ptr, ptr, i64 } { i64 0, ptr @u64, ptr null, i64 0 }]
@reference = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 33, i32 1547788061, ptr null, i64 0, ptr @to.u64, i64 1 }
@fields = private constant [2 x { i64, ptr, ptr, i64 }] [{ i64, ptr, ptr, i64 } { i64 8, ptr @f32, ptr @text, i64 1 }, { i64, ptr, ptr, i64 } { i64 0, ptr @reference, ptr @text, i64 1 }]
@struct = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 36, i32 1547788061, ptr @text, i64 4, ptr @fields, i64 2 }
declare void @__schism_panic(ptr, i64, ptr) cold noreturn nounwind
declare void @__schism_panic_format(ptr, ptr, ptr) cold noreturn nounwind
declare void @__schism_print(ptr, ptr)
declare i64 @any()

; Head: template at 0, the text's length at 8.
; CHECK: @schism.shape = private unnamed_addr constant {{.*}} { i32 0, i32 2, i8 0, i8 8, i16 0, i32 0, ptr @text, i8 0, i8 8, i16 0, i32 8, i64 9 }, align 8
; Head, the list at 16, which points to the value at 32.
; CHECK: @schism.shape.2 = private unnamed_addr constant {{.*}} { i32 1, i32 5, i8 0, i8 8, i16 0, i32 0, ptr @template, i8 2, i8 8, i16 0, i32 8, i64 16, i8 2, i8 8, i16 0, i32 16, i64 32, i8 0, i8 8, i16 0, i32 24, ptr @u64, i8 1, i8 8, i16 0, i32 32, i64 0 }, align 8

; CHECK: define void @a_text
; CHECK: call void @__schism_panic_shaped.0(ptr @schism.shape, ptr @place)
; CHECK-NEXT: unreachable
define void @a_text() {
  call void @__schism_panic(ptr @text, i64 4, ptr @place)
  unreachable
}

; Nothing behind a panic is there.
; CHECK: define void @twice
; CHECK: call void @__schism_panic_shaped.0(ptr @schism.shape, ptr @place)
; CHECK-NEXT: unreachable
; CHECK-NEXT: }
define void @twice() {
  call void @__schism_panic(ptr @text, i64 4, ptr @place)
  call void @__schism_panic(ptr @text, i64 4, ptr @place)
  ret void
}

; CHECK: define void @a_length_that_is_not_known
; CHECK: %{{.*}} = shl i64 %len, 1
; CHECK: %{{.*}} = or i64 %{{.*}}, 1
; CHECK: call void @__schism_panic_shaped.1(ptr @schism.shape.{{.*}}, ptr %place, i64 %{{.*}})
define void @a_length_that_is_not_known(i64 %len, ptr %place) {
  call void @__schism_panic(ptr @text, i64 %len, ptr %place)
  unreachable
}

; CHECK: define void @a_number
; CHECK: call void @__schism_panic_shaped.1(ptr @schism.shape.2, ptr @place, i64 %x)
define void @a_number(i64 %x) {
  %list = alloca [2 x i64]
  %value = alloca i64
  store i64 %x, ptr %value
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @u64, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; The same shape again. The loop's variable is read where it panics, and what the loop prints only reads it.
; CHECK: define void @a_local_that_changes
; CHECK: %{{.*}} = load i64, ptr %value
; CHECK: call void @__schism_panic_shaped.1(ptr @schism.shape.2, ptr @place, i64 %{{.*}})
define void @a_local_that_changes(i64 %n) {
  %list = alloca [2 x i64]
  %printed = alloca [2 x i64]
  %value = alloca i64
  store i64 0, ptr %value
  br label %loop
loop:
  %old = load i64, ptr %value
  %new = add i64 %old, 3
  store i64 %new, ptr %value
  store ptr %value, ptr %printed
  %p = getelementptr i8, ptr %printed, i64 8
  store ptr @u64, ptr %p
  call void @__schism_print(ptr @template, ptr %printed)
  %end = icmp ugt i64 %new, %n
  br i1 %end, label %bad, label %loop
bad:
  store ptr %value, ptr %list
  %d = getelementptr { ptr, ptr }, ptr %list, i32 0, i32 1
  store ptr @u64, ptr %d
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}

; The template is one of two.
; CHECK: define void @wide_and_a_choice
; CHECK: %{{.*}} = ptrtoint ptr %chosen to i64
; CHECK: %{{.*}} = trunc i128 %x to i64
; CHECK: %{{.*}} = lshr i128 %x, 64
; CHECK: %{{.*}} = trunc i128 %{{.*}} to i64
; CHECK: call void @__schism_panic_shaped.3(ptr @schism.shape.{{.*}}, ptr @place, i64 %{{.*}}, i64 %{{.*}}, i64 %{{.*}})
define void @wide_and_a_choice(i128 %x, i1 %which) {
  %list = alloca [2 x i64]
  %value = alloca i128
  %chosen = select i1 %which, ptr @template, ptr @other
  store i128 %x, ptr %value
  store ptr %value, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @i128, ptr %d
  call void @__schism_panic_format(ptr %chosen, ptr %list, ptr @place)
  unreachable
}

; A struct of a reference to a local and a float, and a width.
; CHECK: define void @a_struct
; CHECK: %{{.*}} = zext i16 %w to i64
; CHECK: %{{.*}} = bitcast float %f to i32
; CHECK: %{{.*}} = zext i32 %{{.*}} to i64
; CHECK: call void @__schism_panic_shaped.3(ptr @schism.shape.{{.*}}, ptr @place, i64 %{{.*}}, i64 %{{.*}}, i64 %x)
define void @a_struct(i64 %x, float %f, i16 %w) {
  %list = alloca [4 x i64]
  %struct = alloca { ptr, float }
  %value = alloca i64
  store i64 %x, ptr %value
  store ptr %value, ptr %struct
  %second = getelementptr { ptr, float }, ptr %struct, i32 0, i32 1
  store float %f, ptr %second
  store ptr %struct, ptr %list
  %d = getelementptr i8, ptr %list, i64 8
  store ptr @struct, ptr %d
  %count = getelementptr i8, ptr %list, i64 16
  store ptr null, ptr %count
  %width = getelementptr i8, ptr %list, i64 24
  store i16 %w, ptr %width
  call void @__schism_panic_format(ptr @template, ptr %list, ptr @place)
  unreachable
}
