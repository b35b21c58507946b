-- Shows what Velodyne packets say in Wireshark's and tshark's columns and packet details.
--
--   cp examples/wireshark/menura.lua ~/.local/lib/wireshark/plugins/
--   tshark -r recording/roof-lidar.pcap -X lua_script:examples/wireshark/menura.lua
--
-- Layouts: the manuals of HDL-64E, HDL-32E, VLP-16, VLP-32C and VLS-128. A data packet has 1206 bytes (twelve blocks of
-- flag, azimuth and 32 returns, then time and two bytes); a position packet has 512.

local data = Proto("velodyne", "Velodyne data packet")
local field = {
    azimuth = ProtoField.double("velodyne.azimuth_deg", "Azimuth of the first block (deg)"),
    last_azimuth = ProtoField.double("velodyne.last_azimuth_deg", "Azimuth of the last block (deg)"),
    returns = ProtoField.uint16("velodyne.returns", "Returns"),
    nearest = ProtoField.double("velodyne.nearest_m", "Nearest return (m)"),
    time = ProtoField.double("velodyne.time_s", "Time past the hour (s)"),
    mode = ProtoField.uint8("velodyne.mode", "Return mode, or status type of an HDL-64E", base.HEX,
        { [0x37] = "strongest", [0x38] = "last", [0x39] = "dual" }),
    product = ProtoField.uint8("velodyne.product", "Product, or status value of an HDL-64E", base.HEX,
        { [0x21] = "HDL-32E", [0x22] = "VLP-16", [0x24] = "Puck Hi-Res", [0x28] = "VLP-32C", [0xa1] = "VLS-128" }),
}
data.fields = { field.azimuth, field.last_azimuth, field.returns, field.nearest, field.time, field.mode, field.product }

local BLOCKS, BLOCK_BYTES, CHANNELS = 12, 100, 32

-- Metres per count of a distance: VLP-32C and VLS-128 count 4 mm. An HDL-64E has status bytes instead of the return mode
-- and the product, but its blocks alternate between two banks.
local function unit_m(buffer)
    local mode, product = buffer(1204, 1):uint(), buffer(1205, 1):uint()
    local is_hdl64e = buffer(BLOCK_BYTES + 1, 1):uint() == 0xdd and buffer(2 * BLOCK_BYTES + 1, 1):uint() == 0xee
    local is_coarse = mode >= 0x37 and mode <= 0x39 and (product == 0x28 or product == 0xa1)
    return is_coarse and not is_hdl64e and 0.004 or 0.002
end

function data.dissector(buffer, pinfo, tree)
    if buffer:len() ~= 1206 or buffer(1, 1):uint() < 0xbb then return 0 end
    local returns, nearest = 0, nil
    for block = 0, BLOCKS - 1 do
        for channel = 0, CHANNELS - 1 do
            local distance = buffer(BLOCK_BYTES * block + 4 + 3 * channel, 2):le_uint()
            if distance > 0 then
                returns = returns + 1
                nearest = math.min(nearest or distance, distance)
            end
        end
    end
    local first = buffer(2, 2):le_uint() / 100
    local last = buffer(BLOCK_BYTES * (BLOCKS - 1) + 2, 2):le_uint() / 100
    local time_s = buffer(1200, 4):le_uint() / 1e6
    pinfo.cols.protocol = "Velodyne"
    pinfo.cols.info = string.format("%.2f to %.2f deg, %d returns, %.6f s past the hour", first, last, returns, time_s)
    local details = tree:add(data, buffer())
    details:add(field.azimuth, buffer(2, 2), first)
    details:add(field.last_azimuth, buffer(BLOCK_BYTES * (BLOCKS - 1) + 2, 2), last)
    details:add(field.returns, returns)
    if nearest then details:add(field.nearest, nearest * unit_m(buffer)) end
    details:add(field.time, buffer(1200, 4), time_s)
    details:add(field.mode, buffer(1204, 1))
    details:add(field.product, buffer(1205, 1))
    return buffer:len()
end

local position = Proto("velodyne_position", "Velodyne position packet")
local sentence = ProtoField.string("velodyne_position.sentence", "Sentence of the receiver")
local timer = ProtoField.double("velodyne_position.time_s", "Time past the hour (s)")
position.fields = { sentence, timer }

function position.dissector(buffer, pinfo, tree)
    if buffer:len() ~= 512 then return 0 end
    local text = buffer(206, 128):stringz()
    local time_s = buffer(198, 4):le_uint() / 1e6
    pinfo.cols.protocol = "Velodyne"
    pinfo.cols.info = text == "" and "position packet without a sentence" or text:gsub("[\r\n]+$", "")
    local details = tree:add(position, buffer())
    details:add(timer, buffer(198, 4), time_s)
    details:add(sentence, buffer(206, 128), text)
    return buffer:len()
end

local ports = DissectorTable.get("udp.port")
ports:add(2368, data)
ports:add(8308, position)
