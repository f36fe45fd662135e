; What stage 1 makes of a kernel that reads where its launch begins: the plain one, and the variant.

define void @shifted(ptr %out) {
start:
  call void @store(ptr %out, i64 0, i64 0, i64 0)
  ret void
}

define void @shifted_with_offset(ptr %out, i64 %x, i64 %y, i64 %z) {
start:
  call void @store(ptr %out, i64 %x, i64 %y, i64 %z)
  ret void
}

define internal void @store(ptr %out, i64 %x.offset, i64 %y.offset, i64 %z.offset) {
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
  %at = getelementptr inbounds [3 x i64], ptr %out, i64 %index
  %x.place = add i64 %x, %x.offset
  %y.place = add i64 %y, %y.offset
  %z.place = add i64 %z, %z.offset
  store i64 %x.place, ptr %at, align 8
  %y.at = getelementptr inbounds i64, ptr %at, i64 1
  store i64 %y.place, ptr %y.at, align 8
  %z.at = getelementptr inbounds i64, ptr %at, i64 2
  store i64 %z.place, ptr %z.at, align 8
  ret void
}

; Three more parameters, but no offset.
define void @wrong_with_offset(ptr %out, i64 %x, i32 %y, i64 %z) {
start:
  ret void
}
