; A slice's address and its length belong together, and so it is told how large an element is; nothing is told of a reference without a length.
; SPEC kernel: k entry 40 8
; SPEC param: 0 8 8 integer
; SPEC param: 8 8 8 slice 12
; SPEC param: 16 8 8 integer
; SPEC param: 24 8 8 slice 4
; SPEC param: 32 4 4 integer
define void @entry(ptr %closure, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  ret void
}
; CHECK: define void @k(i64 %0, ptr noalias nonnull readonly align 4 "schism.slice"="1:12" %1, i64 "schism.length"="1" %2, ptr noalias nonnull readonly align 4 %3, i32 %4)
