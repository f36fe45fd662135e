; Kernels that panic where their argument says.

@file = private unnamed_addr constant [11 x i8] c"src/main.rs", align 1
@place = private unnamed_addr constant { ptr, i64, i32, i32 } { ptr @file, i64 11, i32 42, i32 7 }, align 8
@message = private unnamed_addr constant [19 x i8] c"index out of bounds", align 1
@utf8 = private unnamed_addr constant [6 x i8] c"\C3\A4\C3\B6\C3\BC", align 1

define internal void @fail() noinline cold {
start:
  call void @__schism_panic(ptr @message, i64 19, ptr @place)
  unreachable
}

; In the kernel, after inlining: writes out[x + nx * (y + ny * z)] = 1, panics at x == at.
define void @inlined(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %y = call i64 @__schism_global_id_y()
  %z = call i64 @__schism_global_id_z()
  %nx = call i64 @__schism_global_range_x()
  %ny = call i64 @__schism_global_range_y()
  %plane = mul i64 %z, %ny
  %row = add i64 %plane, %y
  %rows = mul i64 %row, %nx
  %index = add i64 %rows, %x
  %wrong = icmp eq i64 %index, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @fail()
  unreachable
good:
  %to = getelementptr inbounds i8, ptr %out, i64 %index
  store i8 1, ptr %to, align 1
  ret void
}

; No place, and a text that is not ASCII.
define void @placeless(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @__schism_panic(ptr @utf8, i64 6, ptr null)
  unreachable
good:
  ret void
}

; In a recursive function, some calls down, with values alive around the call.
define internal i64 @descend(i64 %depth, i64 %x, i64 %at) noinline {
start:
  %bottom = icmp eq i64 %depth, 0
  br i1 %bottom, label %end, label %more
more:
  %less = sub i64 %depth, 1
  %below = call i64 @descend(i64 %less, i64 %x, i64 %at)
  %times = mul i64 %below, 3
  %sum = add i64 %times, %x
  ret i64 %sum
end:
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @fail()
  unreachable
good:
  ret i64 1
}

define void @recursive(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %depth = and i64 %x, 15
  %value = call i64 @descend(i64 %depth, i64 %x, i64 %at)
  %to = getelementptr inbounds i64, ptr %out, i64 %x
  store i64 %value, ptr %to, align 8
  ret void
}

; Through a pointer that only the data knows.
define internal void @quiet() {
start:
  ret void
}

@choices = private unnamed_addr constant [2 x ptr] [ptr @quiet, ptr @fail], align 8

define void @by_pointer(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  %which = zext i1 %wrong to i64
  %choice.at = getelementptr inbounds ptr, ptr @choices, i64 %which
  %choice = load ptr, ptr %choice.at, align 8
  call void %choice()
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  store i8 1, ptr %to, align 1
  ret void
}

; The kernel is itself recursive.
define void @itself(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @fail()
  unreachable
good:
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  %old = load i8, ptr %to, align 1
  %new = add i8 %old, 1
  store i8 %new, ptr %to, align 1
  %few = icmp ult i8 %new, 3
  br i1 %few, label %again, label %end
again:
  call void @itself(ptr %out, i64 %at)
  br label %end
end:
  ret void
}

; Panics always, and is not even followed by `unreachable`.
define void @always(ptr %out, i64 %at) {
start:
  call void @__schism_panic(ptr @message, i64 19, ptr @place)
  ret void
}

; The optimiser can tell that this does not panic.
define void @never(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %n = call i64 @__schism_global_range_x()
  %inside = icmp ult i64 %x, %n
  br i1 %inside, label %good, label %bad
bad:
  call void @fail()
  unreachable
good:
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  store i8 1, ptr %to, align 1
  ret void
}

@template = private unnamed_addr constant [14 x i8] c"\05item \C0\04 of \C0\00", align 1
@u64 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 19, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }

; As `inlined`, with a message that has values, in its own function.
define internal void @check(i64 %index, i64 %at) {
start:
  %args = alloca [4 x i64], align 8
  %first = alloca i64, align 8
  %second = alloca i64, align 8
  %wrong = icmp eq i64 %index, %at
  br i1 %wrong, label %bad, label %good
bad:
  store i64 %index, ptr %first
  store ptr %first, ptr %args
  %f = getelementptr inbounds i8, ptr %args, i64 8
  store ptr @u64, ptr %f
  store i64 %at, ptr %second
  %s = getelementptr inbounds i8, ptr %args, i64 16
  store ptr %second, ptr %s
  %g = getelementptr inbounds i8, ptr %args, i64 24
  store ptr @u64, ptr %g
  call void @__schism_panic_format(ptr @template, ptr %args, ptr @place)
  unreachable
good:
  ret void
}

define void @formatted(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  call void @check(i64 %x, i64 %at)
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  store i8 1, ptr %to, align 1
  ret void
}

; A local that changes, as a program's own message has it.
define void @counts(ptr %out, i64 %at) {
start:
  %args = alloca [2 x i64], align 8
  %count = alloca i64, align 8
  store i64 0, ptr %count
  br label %loop
loop:
  %old = load i64, ptr %count
  %new = add i64 %old, 1
  store i64 %new, ptr %count
  %to = getelementptr inbounds i64, ptr %out, i64 %old
  %found = load i64, ptr %to
  %more = icmp ult i64 %found, %at
  br i1 %more, label %loop, label %bad
bad:
  store ptr %count, ptr %args
  %f = getelementptr inbounds i8, ptr %args, i64 8
  store ptr @u64, ptr %f
  call void @__schism_panic_format(ptr @template, ptr %args, ptr @place)
  unreachable
}

; In a loop and before it, with one value, two, and none.
define void @several(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %at, 77
  br i1 %wrong, label %bad, label %good
bad:
  call void @fail()
  unreachable
good:
  br label %loop
loop:
  %i = phi i64 [ 0, %good ], [ %next, %more ]
  %sum = phi i32 [ 0, %good ], [ %plus, %more ]
  call void @check(i64 %i, i64 %at)
  %from = getelementptr inbounds i32, ptr %out, i64 %i
  %element = load i32, ptr %from, align 4
  %plus = add i32 %sum, %element
  %full = icmp slt i32 %plus, 0
  br i1 %full, label %over, label %more
over:
  %wide = zext i32 %plus to i64
  call void @one(i64 %wide)
  unreachable
more:
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %x
  br i1 %again, label %loop, label %end
end:
  %to = getelementptr inbounds i32, ptr %out, i64 %x
  store i32 %plus, ptr %to, align 4
  %least = icmp ugt i32 %plus, 3
  br i1 %least, label %done, label %small
small:
  call void @__schism_panic(ptr @utf8, i64 6, ptr null)
  unreachable
done:
  ret void
}

define internal void @one(i64 %value) {
start:
  %args = alloca [2 x i64], align 8
  %first = alloca i64, align 8
  store i64 %value, ptr %first
  store ptr %first, ptr %args
  %f = getelementptr inbounds i8, ptr %args, i64 8
  store ptr @u64, ptr %f
  call void @__schism_panic_format(ptr @template, ptr %args, ptr @place)
  unreachable
}

; A text that is not a constant.
define void @shown_text(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @__schism_panic(ptr %out, i64 %at, ptr @place)
  unreachable
good:
  ret void
}

; A number that is somewhere else.
define void @shown_number(ptr %out, i64 %at) {
start:
  %args = alloca [2 x i64], align 8
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  store ptr %out, ptr %args
  %f = getelementptr inbounds i8, ptr %args, i64 8
  store ptr @u64, ptr %f
  call void @__schism_panic_format(ptr @template, ptr %args, ptr @place)
  unreachable
good:
  ret void
}

@vtable = private constant [4 x ptr] [ptr null, ptr inttoptr (i64 4 to ptr), ptr inttoptr (i64 4 to ptr), ptr @format]
@dynamic = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 34, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }
@part = private constant { i64, ptr, ptr, i64 } { i64 0, ptr @dynamic, ptr null, i64 0 }
@reference = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 289, i32 1547788061, ptr null, i64 0, ptr @part, i64 1 }
@placeholder = private unnamed_addr constant [2 x i8] c"\C0\00", align 1

; What formats for itself elsewhere.
define internal i1 @format(ptr %value, ptr %to) noinline {
start:
  %byte = load i8, ptr %value
  store volatile i8 %byte, ptr %to
  ret i1 false
}

; Shows a value by a vtable, where there is a function in place of a descriptor.
define internal void @dyn(ptr %value) cold {
start:
  %args = alloca [2 x i64], align 8
  %wide = alloca [2 x i64], align 8
  store ptr %value, ptr %wide
  %v = getelementptr inbounds i8, ptr %wide, i64 8
  store ptr @vtable, ptr %v
  store ptr %wide, ptr %args
  %f = getelementptr inbounds i8, ptr %args, i64 8
  store ptr @reference, ptr %f
  call void @__schism_panic_format(ptr @placeholder, ptr %args, ptr @place)
  unreachable
}

define void @function_in_vtable(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @dyn(ptr %out)
  unreachable
good:
  ret void
}

; The same, and it calls functions of vtables.
define void @function_by_vtable(ptr %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @dyn(ptr %out)
  unreachable
good:
  %entry = getelementptr inbounds i8, ptr @vtable, i64 %at
  %method = load volatile ptr, ptr %entry
  %no = call i1 %method(ptr %out, ptr %out)
  ret void
}

; Panics if the address of a local is low.
define void @ordered(ptr %out, i64 %at) {
start:
  %local = alloca [5 x i32], align 4
  %index = urem i64 %at, 5
  %element = getelementptr inbounds i32, ptr %local, i64 %index
  store volatile i32 1, ptr %element
  %second = getelementptr inbounds i8, ptr %local, i64 8
  %address = ptrtoint ptr %second to i64
  %more = icmp ugt i64 %address, 65535
  br i1 %more, label %good, label %bad
bad:
  call void @fail()
  unreachable
good:
  store i8 1, ptr %out
  ret void
}

declare void @__schism_panic_format(ptr, ptr, ptr) cold noreturn nounwind

; Stores 7 before it panics, in the kernel or in its own function, and 1 if it does not. Nobody else knows the memory.
define void @stored(ptr noalias %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  store i8 7, ptr %to, align 1
  %wrong = icmp eq i64 %x, %at
  br i1 %wrong, label %bad, label %good
bad:
  call void @fail()
  unreachable
good:
  store i8 1, ptr %to, align 1
  ret void
}

define void @stored_deep(ptr noalias %out, i64 %at) {
start:
  %x = call i64 @__schism_global_id_x()
  %to = getelementptr inbounds i8, ptr %out, i64 %x
  store i8 7, ptr %to, align 1
  %value = call i64 @descend(i64 3, i64 %x, i64 %at)
  store i8 1, ptr %to, align 1
  ret void
}
