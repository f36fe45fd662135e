; SPEC kernel: kernel entry 0 1
; Called pointers: refused are those that can be nothing but the host's.
define void @kernel(ptr %captured, i64 %number, i1 %which) {
  %added = add i64 %number, 4096
  %made = inttoptr i64 %added to ptr
  call void %made()
  call void inttoptr (i64 4096 to ptr)()
  %null = select i1 %which, ptr %made, ptr null
  call void %null()
  call void @by_number(i64 %number)
  call void @by_pointer(ptr %captured)
  call void %captured()
  %function = load ptr, ptr %captured
  call void %function(i64 1)
  %object = getelementptr i8, ptr %captured, i64 16
  %table = load ptr, ptr %object
  %entry = getelementptr i8, ptr %table, i64 24
  %method = load ptr, ptr %entry
  call void %method(i64 2)
  call void @accepted(i64 %number, ptr @one, i1 %which)
  call void @accepted(i64 %number, ptr %captured, i1 %which)
  ret void
}
define internal void @by_number(i64 %number) {
  %made = inttoptr i64 %number to ptr
  call void %made(i64 3)
  ret void
}
define internal void @by_pointer(ptr %captured) {
  %at = getelementptr i8, ptr %captured, i64 8
  %function = load ptr, ptr %at
  call void %function(i64 4)
  ret void
}
define internal void @accepted(i64 %number, ptr %known, i1 %which) {
  call void %known()
  %back = inttoptr i64 ptrtoint (ptr @one to i64) to ptr
  call void %back()
  %bits = select i1 %which, i64 %number, i64 ptrtoint (ptr @one to i64)
  %either = inttoptr i64 %bits to ptr
  call void %either()
  %room = alloca ptr
  store ptr @one, ptr %room
  %stored = load ptr, ptr %room
  call void %stored()
  ret void
}
define internal void @one() {
  ret void
}
; CHECK: 8 use(s)
; CHECK-NEXT: UnknownFunction, chain: ["kernel"]
; CHECK-NEXT: UnknownFunction, chain: ["kernel"]
; CHECK-NEXT: UnknownFunction, chain: ["kernel"]
; CHECK-NEXT: UnknownFunction, chain: ["by_number", "kernel"]
; CHECK-NEXT: HostFunction, chain: ["kernel"]
; CHECK-NEXT: HostFunction, chain: ["kernel"]
; CHECK-NEXT: HostFunction, chain: ["kernel"]
; CHECK-NEXT: HostFunction, chain: ["by_pointer", "kernel"]
; CHECK-NEXT: end of violations
