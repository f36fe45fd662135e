; SPEC kernel: read entry 0 1
; SPEC kernel: nested entry 0 1
; SPEC kernel: called entry 0 1
; SPEC kernel: stored entry 0 1
; SPEC kernel: compared entry 0 1
; SPEC kernel: indexed entry 0 1
; SPEC kernel: recursive entry 0 1
; SPEC kernel: two entry 0 1
; SPEC kernel: distance entry 0 1
; SPEC kernel: nested_compared entry 0 1
; SPEC kernel: chosen entry 0 1
; Copies are used where only what is in them is read, and not where somebody could see their address.
declare ptr @__schism_copy_of(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @read(ptr %to, ptr %original, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  %value = load i64, ptr %which
  store i64 %value, ptr %to
  ret void
}
; The first value refers to the second one.
define void @nested(ptr %to, ptr %original, i64 %copied) {
  %first = alloca ptr
  %second = alloca i64
  %inner = load ptr, ptr %original
  store i64 %copied, ptr %second
  %which_inner = call ptr @__schism_copy_of(ptr %second, ptr %inner)
  store ptr %which_inner, ptr %first
  %which = call ptr @__schism_copy_of(ptr %first, ptr %original)
  call void @twice(ptr %to, ptr %which)
  ret void
}
define internal void @twice(ptr %to, ptr %first) noinline {
  %second = load ptr, ptr %first
  %value = load i64, ptr %second
  store i64 %value, ptr %to
  ret void
}
define void @called(ptr %to, ptr %original, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  call void @put(ptr %to, ptr %which)
  ret void
}
define internal void @put(ptr %to, ptr %value) noinline {
  store ptr %value, ptr %to
  ret void
}
define void @stored(ptr %to, ptr %original, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  %number = ptrtoint ptr %which to i64
  store i64 %number, ptr %to
  ret void
}
define void @compared(ptr %to, ptr %original, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  %is_first = icmp eq ptr %which, %to
  %value = load i64, ptr %which
  %either = select i1 %is_first, i64 %value, i64 0
  store i64 %either, ptr %to
  ret void
}
; The variable stays one, and is compared with its own end only.
define void @indexed(ptr %to, ptr %original, ptr %copied) {
entry:
  %own = alloca [4 x i64]
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %copied, i64 32, i1 false)
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  %end = getelementptr i8, ptr %which, i64 32
  br label %loop
loop:
  %at = phi ptr [ %which, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %value = load i64, ptr %at
  %more = add i64 %sum, %value
  %next = getelementptr i8, ptr %at, i64 8
  %done = icmp eq ptr %next, %end
  br i1 %done, label %exit, label %loop
exit:
  store i64 %more, ptr %to
  ret void
}
define void @recursive(ptr %to, ptr %original, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  call void @again(ptr %to, ptr %which, i64 9)
  ret void
}
define internal void @again(ptr %to, ptr %value, i64 %more) noinline {
  %number = load i64, ptr %value
  store i64 %number, ptr %to
  %done = icmp eq i64 %more, 0
  br i1 %done, label %exit, label %next
next:
  %less = sub i64 %more, 1
  call void @again(ptr %to, ptr %value, i64 %less)
  br label %exit
exit:
  ret void
}
; Two references may be to the same value, and LLVM knows of two variables that they are not.
define void @two(ptr %to, ptr %first, ptr %second, i64 %copied) {
  %own = alloca i64
  %other = alloca i64
  store i64 %copied, ptr %own
  store i64 %copied, ptr %other
  %which = call ptr @__schism_copy_of(ptr %own, ptr %first)
  %which_other = call ptr @__schism_copy_of(ptr %other, ptr %second)
  %same = icmp eq ptr %which, %which_other
  %number = zext i1 %same to i64
  store i64 %number, ptr %to
  ret void
}
define void @distance(ptr %to, ptr %first, ptr %second, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %first)
  %left = ptrtoint ptr %which to i64
  %right = ptrtoint ptr %second to i64
  %bytes = sub i64 %left, %right
  %far = icmp ugt i64 %bytes, 64
  %number = zext i1 %far to i64
  store i64 %number, ptr %to
  ret void
}
; What is compared is behind the first value.
define void @nested_compared(ptr %to, ptr %original, ptr %item) {
  %first = alloca ptr
  %second = alloca i64
  %inner = load ptr, ptr %original
  store i64 5, ptr %second
  %which_inner = call ptr @__schism_copy_of(ptr %second, ptr %inner)
  store ptr %which_inner, ptr %first
  %which = call ptr @__schism_copy_of(ptr %first, ptr %original)
  call void @is_item(ptr %to, ptr %which, ptr %item)
  ret void
}
define internal void @is_item(ptr %to, ptr %first, ptr %item) noinline {
  %second = load ptr, ptr %first
  %same = icmp eq ptr %second, %item
  %number = zext i1 %same to i64
  store i64 %number, ptr %to
  ret void
}
; Null is no value's address. Either of two is.
define void @chosen(ptr %to, ptr %original, ptr %other, i1 %which_one, i64 %copied) {
  %own = alloca i64
  store i64 %copied, ptr %own
  %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
  %is_null = icmp eq ptr %which, null
  %either = select i1 %which_one, ptr %which, ptr %other
  %same = icmp eq ptr %either, %which
  %both = and i1 %same, %is_null
  %number = zext i1 %both to i64
  store i64 %number, ptr %to
  ret void
}
; CHECK-NOT: call ptr @__schism_copy_of
; CHECK-LABEL: define void @read
; CHECK: %value = load i64, ptr %own
; CHECK-LABEL: define void @nested
; CHECK: store ptr %second, ptr %first
; CHECK: call void @twice(ptr %to, ptr %first)
; CHECK-LABEL: define void @called
; CHECK: call void @put(ptr %to, ptr %original)
; CHECK-LABEL: define void @stored
; CHECK: %number = ptrtoint ptr %original to i64
; CHECK-LABEL: define void @compared
; CHECK: %value = load i64, ptr %original
; CHECK-LABEL: define void @indexed
; CHECK: getelementptr i8, ptr %own, i64 32
; CHECK-LABEL: define void @recursive
; CHECK: call void @again(ptr %to, ptr %original, i64 9)
; CHECK-LABEL: define void @two
; CHECK: %same = icmp eq ptr %first, %second
; CHECK-LABEL: define void @distance
; CHECK: %left = ptrtoint ptr %first to i64
; CHECK-LABEL: define void @nested_compared
; CHECK: call void @is_item(ptr %to, ptr %original, ptr %item)
; CHECK-LABEL: define void @chosen
; CHECK: %is_null = icmp eq ptr %original, null
