; SPEC kernel: escapes entry 0 1
; SPEC kernel: stays entry 0 1
; SPEC kernel: through_function entry 0 1
; SPEC kernel: table entry 0 1
; SPEC kernel: local entry 0 1
; SPEC kernel: local_escapes entry 0 1
; SPEC kernel: message entry 0 1
; SPEC kernel: updates entry 0 1
; SPEC kernel: own_memory entry 0 1
; SPEC kernel: difference entry 0 1
; SPEC kernel: constant_difference entry 0 1
; SPEC kernel: difference_to_host entry 0 1
; SPEC kernel: constant_address entry 0 1
; SPEC kernel: length_in_function entry 0 1
; SPEC kernel: distance_in_function entry 0 1
; SPEC host-memory: escapes
; SPEC host-memory: stays
; SPEC host-memory: through_function
; SPEC host-memory: table
; SPEC host-memory: local
; SPEC host-memory: local_escapes
; SPEC host-memory: message
; SPEC host-memory: updates
; SPEC host-memory: difference
; SPEC host-memory: constant_difference
; SPEC host-memory: difference_to_host
; SPEC host-memory: constant_address
; SPEC host-memory: length_in_function
; SPEC host-memory: distance_in_function
; Addresses of constants that get into the host's memory, and updates of atomics there.
@even = private constant [4 x i8] c"even"
@odd = private constant [3 x i8] c"odd"
@words = private constant [2 x ptr] [ptr @even, ptr @odd]
declare void @__schism_panic(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @escapes(ptr %to, i1 %which) {
  %word = select i1 %which, ptr @even, ptr @odd
  store ptr %word, ptr %to
  ret void
}
define void @stays(ptr %to, i64 %i) {
  %at = getelementptr i8, ptr @even, i64 %i
  %byte = load i8, ptr %at
  store i8 %byte, ptr %to
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr @even, i64 4, i1 false)
  ret void
}
define void @through_function(ptr %to) {
  %word = call ptr @longer(ptr @even)
  call void @put(ptr %word, ptr %to)
  ret void
}
define internal ptr @longer(ptr %word) {
  %next = getelementptr i8, ptr %word, i64 1
  ret ptr %next
}
define internal void @put(ptr %word, ptr %to) {
  store ptr %word, ptr %to
  ret void
}
define void @table(ptr %to, i64 %i) {
  %at = getelementptr ptr, ptr @words, i64 %i
  %word = load i64, ptr %at
  store i64 %word, ptr %to
  ret void
}
define void @local(ptr %to) {
  %slice = alloca { ptr, i64 }
  store ptr @even, ptr %slice
  %word = load ptr, ptr %slice
  %byte = load i8, ptr %word
  store i8 %byte, ptr %to
  ret void
}
define void @local_escapes(ptr %to) {
  %slice = alloca { ptr, i64 }
  store ptr @even, ptr %slice
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %slice, i64 16, i1 false)
  ret void
}
define void @message(ptr %to) {
  call void @__schism_panic(ptr @even, i64 4)
  unreachable
}
define void @updates(ptr %to) {
  %before = atomicrmw add ptr %to, i32 1 monotonic
  ret void
}
define void @own_memory(ptr %to) {
  store ptr @even, ptr %to
  %before = atomicrmw add ptr %to, i32 1 monotonic
  ret void
}
define void @difference(ptr %to) {
  %end = getelementptr i8, ptr @even, i64 4
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr @even to i64
  %length = sub i64 %a, %b
  store i64 %length, ptr %to
  ret void
}
define void @constant_difference(ptr %to) {
  %count = udiv exact i64 sub nuw (i64 ptrtoint (ptr getelementptr inbounds nuw (i8, ptr @even, i64 4) to i64), i64 ptrtoint (ptr @even to i64)), 2
  store i64 %count, ptr %to
  ret void
}
define void @difference_to_host(ptr %to, ptr %from) {
  %a = ptrtoint ptr %from to i64
  %b = ptrtoint ptr @even to i64
  %length = sub i64 %b, %a
  store i64 %length, ptr %to
  ret void
}
define void @constant_address(ptr %to) {
  %address = add i64 ptrtoint (ptr @even to i64), 2
  store i64 %address, ptr %to
  ret void
}
define internal void @put_length(ptr %begin, ptr %end, ptr %to) {
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr %begin to i64
  %length = sub i64 %a, %b
  store i64 %length, ptr %to
  ret void
}
define void @length_in_function(ptr %to) {
  call void @put_length(ptr @even, ptr getelementptr (i8, ptr @even, i64 4), ptr %to)
  ret void
}
define internal void @put_distance(ptr %begin, ptr %end, ptr %to) {
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr %begin to i64
  %length = sub i64 %a, %b
  store i64 %length, ptr %to
  ret void
}
define void @distance_in_function(ptr %to) {
  call void @put_distance(ptr %to, ptr getelementptr (i8, ptr @even, i64 4), ptr %to)
  ret void
}
; CHECK: ; kernel escapes: needs constant-addresses
; CHECK-NEXT: ; kernel stays:
; CHECK-NEXT: ; kernel through_function: needs constant-addresses
; CHECK-NEXT: ; kernel table: needs constant-addresses
; CHECK-NEXT: ; kernel local:
; CHECK-NEXT: ; kernel local_escapes: needs constant-addresses
; CHECK-NEXT: ; kernel message: can-panic
; CHECK-NEXT: ; kernel updates: needs host-atomics
; CHECK-NEXT: ; kernel own_memory:
; CHECK-NEXT: ; kernel difference:
; CHECK-NEXT: ; kernel constant_difference:
; CHECK-NEXT: ; kernel difference_to_host: needs constant-addresses
; CHECK-NEXT: ; kernel constant_address: needs constant-addresses
; CHECK-NEXT: ; kernel length_in_function:
; CHECK-NEXT: ; kernel distance_in_function: needs constant-addresses
; CHECK-NEXT: end of violations
