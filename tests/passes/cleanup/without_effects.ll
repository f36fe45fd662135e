; SPEC kernel: vector entry_vector 0 1
; SPEC kernel: forges entry_forges 0 1
; SPEC kernel: forges_block entry_block 0 1
; SPEC host-memory: vector
; SPEC host-memory: forges
; SPEC host-memory: forges_block
; SPEC without-effects: vector
; SPEC without-effects: forges
; SPEC without-effects: forges_block
; Where the only effect is the result, cleanup does not matter, and an address that is made of a number does.
declare void @closure()
declare i32 @personality(...)
define void @entry_vector(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @personality {
  invoke void @closure() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  %vector = load ptr, ptr %k
  store i64 0, ptr %vector
  resume { ptr, i32 } %pad
}
define void @entry_forges(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  %at = inttoptr i64 %x to ptr
  store i64 0, ptr %at
  ret void
}
define void @entry_block(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  %block = call ptr @_ZN5alloc5alloc6Global10alloc_impl17h0E(i64 %x)
  store ptr inttoptr (i64 8 to ptr), ptr %k
  ret void
}
define ptr @_ZN5alloc5alloc6Global10alloc_impl17h0E(i64 %align) {
  %dangling = inttoptr i64 %align to ptr
  ret ptr %dangling
}
; CHECK: ; kernel vector:
; CHECK-NEXT: ; kernel forges: needs forged-addresses
; CHECK-NEXT: ; kernel forges_block:
; CHECK-NEXT: end of violations
