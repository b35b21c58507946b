// Configures a SICK LMS 2xx with MRPT's driver, as rawlog-grabber does, and prints its scans.
//
//   sick_mrpt PORT BAUD MILLIMETRES(0|1) FOV_DEG RESOLUTION_CENTIDEG SCANS
//
// A line a scan: first angle and aperture in radians, counter-clockwise, then the ranges in metres.
// Exit code 1 when the driver gives up.

#include <mrpt/hwdrivers/CSickLaserSerial.h>
#include <mrpt/obs/CObservation2DRangeScan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

int main(int argc, char** argv)
{
    if (argc != 7) {
        std::fprintf(stderr, "six arguments, see the source\n");
        return 2;
    }
    const int wanted = std::atoi(argv[6]);
    try {
        mrpt::hwdrivers::CSickLaserSerial laser;
        laser.setSerialPort(argv[1]);
        laser.setBaudRate(std::atoi(argv[2]));
        laser.setMillimeterMode(std::atoi(argv[3]) != 0);
        laser.setScanFOV(std::atoi(argv[4]));
        laser.setScanResolution(std::atoi(argv[5]));
        laser.initialize();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (int scans = 0; scans < wanted;) {
            if (std::chrono::steady_clock::now() > end) {
                std::fprintf(stderr, "%d scans in a minute\n", scans);
                return 1;
            }
            bool there_is_one = false, failed = false;
            mrpt::obs::CObservation2DRangeScan scan;
            laser.doProcessSimple(there_is_one, scan, failed);
            if (failed) {
                std::fprintf(stderr, "the driver gave up after %d scans\n", scans);
                return 1;
            }
            if (!there_is_one) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            ++scans;
            const double first = (scan.rightToLeft ? -0.5 : 0.5) * scan.aperture;
            std::printf("%.9f %.9f", first, scan.rightToLeft ? scan.aperture : -scan.aperture);
            for (size_t i = 0; i < scan.getScanSize(); ++i)
                std::printf(" %.4f", scan.getScanRange(i));
            std::printf("\n");
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
