// Reads a Velodyne with MRPT's driver, as rawlog-grabber does, and writes the scans it makes.
//
//   velodyne_mrpt VLP16|HDL32|HDL64 PORT POSITION_PORT SOURCE_ADDRESS OUT [CALIBRATION.xml]
//
// Packets from elsewhere than the source are filtered out by the driver. See velodyne_driver.h for when
// it ends and what it writes. Frame: x forward, y left, z up. Prints a line `gps` for each position
// that the driver hands over: its UTC and position; and `scan 1` for each scan with satellite time.

#include <mrpt/hwdrivers/CVelodyneScanner.h>
#include <mrpt/obs/CObservationGPS.h>
#include <mrpt/obs/CObservationVelodyneScan.h>

#include <cstdlib>
#include <exception>

#include "velodyne_driver.h"

using mrpt::hwdrivers::CVelodyneScanner;
using mrpt::obs::CObservationGPS;
using mrpt::obs::CObservationVelodyneScan;

static void print(const CObservationGPS& position)
{
    using mrpt::obs::gnss::Message_NMEA_RMC;
    if (!position.hasMsgClass<Message_NMEA_RMC>())
        return;
    const auto& fields = position.getMsgByClass<Message_NMEA_RMC>().fields;
    std::printf("gps %c %02u%02u%06.3f %.8f %.8f\n", fields.validity_char, fields.UTCTime.hour,
                fields.UTCTime.minute, fields.UTCTime.sec, fields.latitude_degrees,
                fields.longitude_degrees);
}

int main(int argc, char** argv)
{
    if (argc != 6 && argc != 7) {
        std::fprintf(stderr, "five or six arguments, see the source\n");
        return 2;
    }
    try {
        CVelodyneScanner::VELODYNE_DATA_UDP_PORT = static_cast<short>(std::atoi(argv[2]));
        CVelodyneScanner::VELODYNE_POSITION_UDP_PORT = static_cast<short>(std::atoi(argv[3]));
        CVelodyneScanner driver;
        driver.setModelName(mrpt::typemeta::TEnumType<CVelodyneScanner::model_t>::name2value(argv[1]));
        driver.setDeviceIP(argv[4]);
        if (argc == 7) {
            if (!driver.loadCalibrationFile(argv[6]))
                return 1;
        }
        driver.initialize();
        widen_receive_buffers();
        std::puts("ready");
        std::fflush(stdout);
        Cloud cloud;
        bool over = false;
        while (!over || !cloud.is_quiet()) {
            over = over || told_to_end();
            CObservationVelodyneScan::Ptr scan;
            CObservationGPS::Ptr position;
            if (!driver.getNextObservation(scan, position))
                return 1;
            if (position)
                print(*position);
            if (!scan)
                continue;
            scan->generatePointCloud();
            const auto& points = scan->point_cloud;
            for (std::size_t i = 0; i < points.size(); ++i)
                cloud.add(points.x[i], points.y[i], points.z[i], points.intensity[i]);
            cloud.sweep_ends();
            std::printf("scan %d\n", scan->has_satellite_timestamp);
        }
        cloud.write(argv[5]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
